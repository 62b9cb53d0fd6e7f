import type { GrammarSpec } from '../../grammar/grammar-spec.ts';
import type { SharedMatch } from '../../grammar/shared-match.ts';
import type { MatchThread } from './grammar-threads.ts';
import type { Sequence } from '../sequence.ts';

/** A constrained sequence, and the state of its matching. */
export interface Matcher {
  readonly sequence: Sequence;
  readonly grammar: GrammarSpec;
  /** A new one for each thread. */
  match: SharedMatch;
  thread: MatchThread;
  /** Its thread ended, and it has made no progress since. */
  wasRestarted: boolean;
  /** It does not share a thread with quick ones. */
  isSlow: boolean;
  /** Since when its mask is waited for, or -1. */
  waitingSince: number;
  /** The work that its thread was last seen doing, and since when. */
  work: { readonly number: number; readonly since: number };
  /** Why it can't go on, or null. */
  failure: string | null;
  /** Drafts whose masks were asked for. */
  numDrafts: number;
}

/** How long the matcher's thread has been doing the same work for it, in milliseconds. */
export function msAtWork(matcher: Matcher, now: number): number {
  const number = matcher.match.workNumber;
  if (number !== matcher.work.number) matcher.work = { number, since: now };
  const isWorking = number % 2 === 1;
  return isWorking ? now - matcher.work.since : 0;
}
