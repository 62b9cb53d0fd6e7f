import type { GrammarSpec } from '../../grammar/grammar-spec.ts';
import type { SharedMatch } from '../../grammar/shared-match.ts';
import type { MatchThread } from './grammar-threads.ts';
import type { Sequence } from '../sequence.ts';

/** A constrained sequence, and how its matching goes. */
export interface Matcher {
  readonly sequence: Sequence;
  readonly grammar: GrammarSpec;
  readonly match: SharedMatch;
  thread: MatchThread;
  /** Its thread ended under it, and it has not got on since. */
  wasRestarted: boolean;
  /** It is kept apart from quick ones. */
  isSlow: boolean;
  /** Since when its mask is waited for, or -1. */
  waitingSince: number;
  /** The piece of work its thread was last seen at, and since when. */
  work: { readonly number: number; readonly since: number };
  /** Why it can't go on, or null. */
  failure: string | null;
  /** Drafts whose masks were asked for. */
  numDrafts: number;
}

/** How long the matcher's thread has been seen at the same piece of work for it, in milliseconds. */
export function msAtWork(matcher: Matcher, now: number): number {
  const number = matcher.match.workNumber;
  if (number !== matcher.work.number) matcher.work = { number, since: now };
  const isWorking = number % 2 === 1;
  return isWorking ? now - matcher.work.since : 0;
}
