/**
 * Ids of a resumable stream's events: how many tokens of each choice its reader has after the event,
 * and which those since the event before are. `12,5;0:1a.3f` says 12 tokens of choice 0 and 5 of
 * choice 1, and that 0x1a and 0x3f came last, in choice 0. Token ids are in base 36.
 */
import { LIMITS } from '../../limits.ts';

const BASE = 36;

/** Tokens of one choice. */
export interface ChoiceTokens {
  readonly choice: number;
  readonly tokenIds: readonly number[];
}

export function formatEventId(counts: readonly number[], added: readonly ChoiceTokens[]): string {
  const tokens = added.map(
    ({ choice, tokenIds }) => `${choice}:${tokenIds.map((id) => id.toString(BASE)).join('.')}`,
  );
  return [counts.join(','), ...tokens].join(';');
}

/** The counts of an event's id, by choice; null for what is no such id. */
export function parseCounts(eventId: string): number[] | null {
  const [text = ''] = eventId.slice(0, LIMITS.shortTextCharacters).split(';', 1);
  if (!/^\d{1,9}(,\d{1,9})*$/.test(text)) return null;
  return text.split(',').map(Number);
}
