/**
 * Ids of a resumable stream's events: how many tokens of each choice its reader has after the event,
 * and which those since the event before are. `12,5;0:1a.3f` says 12 tokens of choice 0 and 5 of
 * choice 1, and that `1a` and `3f` (46 and 123; ids are in base 36) came last, in choice 0. Where the API
 * numbers its events, how many there were comes second: `12;e17;0:1a`.
 */
import { LIMITS } from '../../limits.ts';

const BASE = 36;

/** Counts in an event's id. */
export interface EventCounts {
  /** Tokens, by choice. */
  readonly counts: readonly number[];
  /** Numbered events; 0 for an API that does not number them. */
  readonly numEvents: number;
}

/** Tokens of one choice. */
export interface ChoiceTokens {
  readonly choice: number;
  readonly tokenIds: readonly number[];
}

export function formatEventId(
  { counts, numEvents }: EventCounts,
  added: readonly ChoiceTokens[],
): string {
  const events = numEvents === 0 ? [] : [`e${numEvents}`];
  const tokens = added.map(
    ({ choice, tokenIds }) => `${choice}:${tokenIds.map((id) => id.toString(BASE)).join('.')}`,
  );
  return [counts.join(','), ...events, ...tokens].join(';');
}

/** Counts in an event's id; null if it is not valid. */
export function parseEventId(eventId: string): EventCounts | null {
  const text = eventId.slice(0, LIMITS.shortTextCharacters);
  const [, counts, numEvents = '0'] =
    /^(\d{1,9}(?:,\d{1,9})*)(?:;e(\d{1,9}))?(?:;|$)/.exec(text) ?? [];
  if (counts === undefined) return null;
  return { counts: counts.split(',').map(Number), numEvents: Number(numEvents) };
}
