import { GrammarThreadError } from '../../grammar/grammar-thread.ts';
import type { GrammarSpec, GrammarVocabulary } from '../../grammar/grammar-spec.ts';
import { SharedMatch } from '../../grammar/shared-match.ts';
import { LIMITS } from '../../limits.ts';
import type { TokenOutput } from '../request.ts';
import type { ConstrainedResults, Constraints, TokenMask } from '../sampling/constraints.ts';
import { GrammarThreads, type MatchThread } from './grammar-threads.ts';
import { type Matcher, msAtWork } from './matcher.ts';
import type { Sequence } from '../sequence.ts';
import type { SegmentLogits, SequenceFailure } from '../step.ts';

/** Slow masks in a row after which a sequence no longer shares a thread with quick ones. */
const MAX_SLOW_MASKS = 8;
/** How long the engine sleeps at a time when it has nothing but missing masks to wait for. */
const IDLE_WAIT_MS = 2;
const NO_WAY_ON = 'the text cannot go on within its grammar';
const NOTHING = new Int32Array();

/** A step's results, sorted by whether their next token may be sampled now. */
interface SortedResults extends ConstrainedResults {
  /** Their masks are not there yet. */
  readonly deferred: readonly Sequence[];
}

export interface GrammarMatchersOptions {
  readonly vocabulary: GrammarVocabulary;
  /** Milliseconds for a compile, and for what a sequence's first mask takes. */
  readonly timeoutMs?: number;
  /** Milliseconds for one mask. */
  readonly maskMs?: number;
  /** Longest draft, in tokens; 0 if left out. */
  readonly maxDraftTokens?: number;
}

/**
 * Keeps constrained sequences to their grammars. Threads compile and match: while the decoder
 * runs a step, they work out which tokens may follow and leave a mask in shared memory. The loop
 * does not wait for a mask while other sequences can go on. A sequence whose mask is late samples
 * nothing, and its last token is computed once more. Its text is the same either way, and
 * unconstrained sequences keep their pace.
 */
export class GrammarMatchers implements Constraints {
  readonly #vocabulary: GrammarVocabulary;
  readonly #timeoutMs: number;
  readonly #maskMs: number;
  readonly #threads: GrammarThreads;
  readonly #maxDraftTokens: number;
  readonly #matchers = new Map<number, Matcher>();
  #isReleased = false;

  constructor(options: GrammarMatchersOptions) {
    const { vocabulary, maxDraftTokens = 0 } = options;
    this.#vocabulary = vocabulary;
    this.#timeoutMs = options.timeoutMs ?? LIMITS.grammarCompileMs;
    this.#maskMs = options.maskMs ?? LIMITS.grammarMaskMs;
    this.#maxDraftTokens = maxDraftTokens;
    const timeoutMs = this.#timeoutMs;
    const onEnd = (thread: MatchThread) => this.#replace(thread);
    this.#threads = new GrammarThreads({ vocabulary, timeoutMs, onEnd });
  }

  /**
   * Compiles a grammar, for sequences that are opened with it soon after.
   * @throws GrammarError when it can't be compiled.
   */
  async compile(grammar: GrammarSpec): Promise<void> {
    try {
      await this.#compile(grammar);
    } catch (error) {
      if (!(error instanceof GrammarThreadError) || this.#isReleased) throw error;
      // Another grammar made the thread fail.
      await this.#compile(grammar);
    }
  }

  async #compile({ ebnf, owner = '' }: GrammarSpec): Promise<void> {
    const user = {};
    const thread = this.#threads.enter(user, ebnf, owner);
    try {
      await thread.grammarThread.compile({ form: { kind: 'compiled', text: ebnf } });
    } finally {
      this.#threads.leave(user, thread);
    }
  }

  /** Starts to match a sequence, after the tokens it already has. */
  open(sequence: Sequence): void {
    const { grammar } = sequence.request;
    if (grammar === null) return;
    const match = this.#allocate();
    const matcher: Matcher = {
      sequence,
      grammar,
      match,
      thread: this.#threads.enter(match, grammar.ebnf, grammar.owner ?? ''),
      wasRestarted: false,
      isSlow: false,
      waitingSince: -1,
      work: { number: 0, since: 0 },
      failure: null,
      numDrafts: 0,
    };
    this.#matchers.set(sequence.id, matcher);
    this.#post(matcher);
  }

  /** Waits a moment for a mask where nothing can be sampled without one. */
  constrain(results: readonly SegmentLogits[]): ConstrainedResults {
    const sorted = this.#sort(results);
    if (sorted.ready.length > 0) return sorted;
    const matcher = this.#matchers.get(sorted.deferred[0]?.id ?? -1);
    if (matcher === undefined) return sorted;
    matcher.match.waitForMask(0, matcher.sequence.numOutputTokens, IDLE_WAIT_MS);
    return this.#sort(results);
  }

  #sort(results: readonly SegmentLogits[]): SortedResults {
    const ready: SegmentLogits[] = [];
    const deferred: Sequence[] = [];
    const failures: SequenceFailure[] = [];
    for (const result of results) {
      const { sequence } = result.segment;
      const matcher = this.#matchers.get(sequence.id);
      if (matcher === undefined || sequence.scoresPrompt) {
        ready.push(result);
      } else if (matcher.failure !== null) {
        failures.push({ sequence, message: matcher.failure, isOfGrammar: true });
      } else if (!matcher.match.hasMask(0, sequence.numOutputTokens)) {
        deferred.push(sequence);
        this.#checkTime(matcher);
      } else {
        if (matcher.match.mask(0) !== null) ready.push(result);
        else failures.push({ sequence, message: NO_WAY_ON, isOfGrammar: true });
        matcher.waitingSince = -1;
        if (matcher.match.numSlowInARow >= MAX_SLOW_MASKS) this.#setApart(matcher);
      }
    }
    return { ready, deferred, failures };
  }

  /**
   * The text that the grammar forces next, as far as it is known by now, in the tokens that the model
   * most likely writes it in.
   */
  forced(sequence: Sequence): Int32Array {
    const match = this.#matchers.get(sequence.id)?.match;
    if (match === undefined) return NOTHING;
    const output = sequence.tokenIds(sequence.numPromptTokens);
    const { position, tokenIds } = match.forced;
    // The thread may lag by a step: the text has grown since, perhaps not as the thread expected.
    const since = output.subarray(Math.max(0, position));
    const cameTrue = since.every((tokenId, index) => tokenId === tokenIds[index]);
    return position >= 0 && cameTrue ? tokenIds.subarray(since.length) : NOTHING;
  }

  /** Has the masks after each token of a draft worked out while that is verified. */
  draft(sequence: Sequence, draftTokenIds: Int32Array): void {
    const matcher = this.#matchers.get(sequence.id);
    if (matcher === undefined) return;
    const { id } = sequence;
    const number = ++matcher.numDrafts;
    const tokenIds = draftTokenIds.slice();
    matcher.thread.grammarThread.post({ type: 'draft', id, number, tokenIds });
  }

  maskOf(sequence: Sequence, numAccepted: number): TokenMask | 'free' | null {
    const matcher = this.#matchers.get(sequence.id);
    if (matcher === undefined) return 'free';
    const { match, numDrafts } = matcher;
    const isThere = numAccepted === 0 || match.waitForMask(numAccepted, numDrafts, IDLE_WAIT_MS);
    return isThere ? match.mask(numAccepted) : null;
  }

  /**
   * Takes a step's tokens into account; the masks of what follows are worked out from here on.
   * @param looksAhead also for tokens that are forced after those
   */
  advance(outputs: readonly TokenOutput[], looksAhead: boolean): void {
    if (this.#matchers.size === 0) return;
    for (const { id, finishReason } of outputs) if (finishReason) this.close(id);
    const tokens = new Map<MatchThread, [number, number][]>();
    for (const { id, tokenId } of outputs) {
      const matcher = this.#matchers.get(id);
      if (matcher === undefined) continue;
      matcher.wasRestarted = false;
      const ofThread = tokens.get(matcher.thread) ?? [];
      ofThread.push([id, tokenId]);
      tokens.set(matcher.thread, ofThread);
    }
    for (const [thread, ofThread] of tokens) {
      thread.grammarThread.post({ type: 'accept', tokens: ofThread, looksAhead });
    }
  }

  /** Forgets a sequence; unknown ids are ignored. */
  close(id: number): void {
    const matcher = this.#matchers.get(id);
    if (matcher === undefined) return;
    this.#matchers.delete(id);
    void this.#leave(matcher);
  }

  /** Ends the threads. */
  release(): void {
    this.#isReleased = true;
    this.#matchers.clear();
    this.#threads.terminateAll('the engine stops');
  }

  #allocate(): SharedMatch {
    const { vocabSize } = this.#vocabulary;
    return SharedMatch.allocate({ vocabSize, maxDraftTokens: this.#maxDraftTokens });
  }

  #post({ sequence, grammar, match, thread }: Matcher): void {
    const { id } = sequence;
    const tokenIds = sequence.tokenIds(sequence.numPromptTokens).slice();
    thread.grammarThread.post({
      type: 'open',
      id,
      ebnf: grammar.ebnf,
      tokenIds,
      match: match.data,
    });
  }

  /** Its thread may be in the middle of a mask that has no end, and others would wait for it. */
  async #leave({ ...left }: Matcher): Promise<void> {
    const { sequence, match, thread } = left;
    const check = setInterval(() => {
      const isStuck = msAtWork(left, performance.now()) >= this.#maskMs;
      if (isStuck) thread.grammarThread.terminate('a grammar takes too long to match');
    }, this.#maskMs / 4).unref();
    await thread.grammarThread.close(sequence.id);
    clearInterval(check);
    this.#threads.leave(match, thread);
  }

  #reopen(matcher: Matcher): void {
    const { ebnf, owner = '' } = matcher.grammar;
    const isSlow = matcher.isSlow ? `${owner} slow` : owner;
    matcher.waitingSince = -1;
    // A thread that it has left may still write to the one before.
    matcher.match = this.#allocate();
    matcher.work = { number: 0, since: 0 };
    matcher.thread = this.#threads.enter(matcher.match, ebnf, isSlow);
    this.#post(matcher);
  }

  /** Its masks are slow: sequences on the same thread would wait for each of them. */
  #setApart(matcher: Matcher): void {
    if (matcher.isSlow || matcher.thread.users.size === 1) return;
    matcher.isSlow = true;
    void this.#leave(matcher);
    this.#reopen(matcher);
  }

  /** Sequences of a thread that ended start again in another, after the tokens they have. */
  #replace(thread: MatchThread): void {
    for (const matcher of this.#matchers.values()) {
      if (matcher.thread !== thread) continue;
      // A sequence that made two threads fail may make any thread fail.
      if (matcher.wasRestarted) matcher.failure ??= NO_WAY_ON;
      else this.#reopen(matcher);
      matcher.wasRestarted = true;
    }
  }

  #checkTime(matcher: Matcher): void {
    const now = performance.now();
    if (matcher.waitingSince === -1) matcher.waitingSince = now;
    const { thread } = matcher;
    const stuck = this.#stuckIn(thread, now);
    if (stuck !== undefined) {
      stuck.wasRestarted = true;
      stuck.failure = 'its grammar takes too long to match';
      thread.grammarThread.terminate('a grammar takes too long to match');
    } else if (now - matcher.waitingSince >= this.#timeoutMs) {
      thread.grammarThread.terminate('a grammar takes too long to match');
    }
  }

  /** The matcher that its thread has worked on for too long, if any. */
  #stuckIn(thread: MatchThread, now: number): Matcher | undefined {
    return [...this.#matchers.values()].find(
      (matcher) => matcher.thread === thread && msAtWork(matcher, now) >= this.#maskMs,
    );
  }
}
