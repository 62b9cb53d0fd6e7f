import { GrammarThread, GrammarThreadError } from '../grammar/grammar-thread.ts';
import type { GrammarVocabulary } from '../grammar/grammar-spec.ts';
import { SharedMatch } from '../grammar/shared-match.ts';
import type { LogitsRow } from './sampler.ts';
import type { Sequence } from './sequence.ts';
import type { SampledToken, SequenceFailure } from './step-plan.ts';

/** Two, so that the sequences of one grammar go on while another is compiled. */
const NUM_THREADS = 2;
/** For a compile, and for a mask: an honest one takes less than a second. */
const TIMEOUT_MS = 10_000;
/** Grammars that a thread is chosen by. */
const MAX_REMEMBERED = 256;
/** How long the engine sleeps at a time when it has nothing but missing masks to wait for. */
const IDLE_WAIT_MS = 2;
const NOTHING = new Int32Array();

interface Matcher {
  readonly sequence: Sequence;
  readonly ebnf: string;
  readonly match: SharedMatch;
  thread: Thread;
  /** Its thread ended under it, and it has not got on since. */
  wasRestarted: boolean;
  /** Since when its mask is waited for, or -1. */
  waitingSince: number;
  /** Drafts whose masks were asked for. */
  numDrafts: number;
}

interface Thread {
  readonly grammarThread: GrammarThread;
  /** Grammars it has compiled, or is to compile. */
  readonly grammars: Set<string>;
}

/** The rows of a step, sorted by whether their next token may be sampled now. */
export interface ConstrainedRows {
  readonly ready: readonly LogitsRow[];
  /** Their masks are not there yet: they are computed again in the next step. */
  readonly pending: readonly Sequence[];
  readonly failures: readonly SequenceFailure[];
}

export interface GrammarMatchersOptions {
  readonly vocabulary: GrammarVocabulary;
  readonly timeoutMs?: number;
  /** Longest draft; 0 if left out. */
  readonly maxDraftTokens?: number;
}

/**
 * Keeps constrained sequences to their grammars. Compiling and matching happen in threads: while the
 * decoder runs a step they work out which tokens may follow, and leave a mask in shared memory. The
 * loop never waits for one as long as it has other rows to go on with: a row whose mask is late
 * samples nothing, and its last token is computed once more. What a sequence generates does not
 * depend on that, nor does it change the pace of unconstrained rows.
 */
export class GrammarMatchers {
  readonly #vocabulary: GrammarVocabulary;
  readonly #timeoutMs: number;
  #threads: Thread[] = [];
  readonly #maxDraftTokens: number;
  readonly #matchers = new Map<number, Matcher>();
  #isReleased = false;

  constructor({ vocabulary, timeoutMs = TIMEOUT_MS, maxDraftTokens = 0 }: GrammarMatchersOptions) {
    this.#vocabulary = vocabulary;
    this.#timeoutMs = timeoutMs;
    this.#maxDraftTokens = maxDraftTokens;
  }

  /**
   * Compiles a grammar, for sequences that are opened with it soon after.
   * @throws GrammarError when it can't be compiled.
   */
  async compile(ebnf: string): Promise<void> {
    try {
      await this.#threadFor(ebnf).grammarThread.compile(ebnf);
    } catch (error) {
      if (!(error instanceof GrammarThreadError) || this.#isReleased) throw error;
      // Another grammar brought the thread down.
      await this.#threadFor(ebnf).grammarThread.compile(ebnf);
    }
  }

  /** Starts to match a sequence, behind the tokens it already has. */
  open(sequence: Sequence): void {
    const { grammar } = sequence.request;
    if (grammar === null) return;
    const { vocabSize } = this.#vocabulary;
    const matcher: Matcher = {
      sequence,
      ebnf: grammar.ebnf,
      match: SharedMatch.allocate({ vocabSize, maxDraftTokens: this.#maxDraftTokens }),
      thread: this.#threadFor(grammar.ebnf),
      wasRestarted: false,
      waitingSince: -1,
      numDrafts: 0,
    };
    this.#matchers.set(sequence.id, matcher);
    this.#post(matcher);
  }

  /** Gives constrained rows their masks. */
  constrain(rows: readonly LogitsRow[]): ConstrainedRows {
    const sorted = this.#sort(rows);
    if (sorted.ready.length > 0) return sorted;
    const matcher = this.#matchers.get(sorted.pending[0]?.id ?? -1);
    if (matcher === undefined) return sorted;
    matcher.match.waitForMask(0, matcher.sequence.numOutputTokens, IDLE_WAIT_MS);
    return this.#sort(rows);
  }

  #sort(rows: readonly LogitsRow[]): ConstrainedRows {
    const ready: LogitsRow[] = [];
    const pending: Sequence[] = [];
    const failures: SequenceFailure[] = [];
    for (const row of rows) {
      const { sequence } = row;
      const matcher = this.#matchers.get(sequence.id);
      if (matcher === undefined || sequence.scoresPrompt) {
        ready.push(row);
      } else if (!matcher.match.hasMask(0, sequence.numOutputTokens)) {
        pending.push(sequence);
        this.#checkTime(matcher);
      } else {
        sequence.tokenMask = matcher.match.mask(0);
        if (sequence.tokenMask) ready.push(row);
        else failures.push({ sequence, message: 'the text can not go on within its grammar' });
        matcher.waitingSince = -1;
      }
    }
    return { ready, pending, failures };
  }

  /**
   * What the grammar forces next, in the tokens that the model most likely writes it in, as far as
   * that is known by now.
   */
  forced(sequence: Sequence): Int32Array {
    const match = this.#matchers.get(sequence.id)?.match;
    if (match === undefined) return NOTHING;
    const output = sequence.tokenIds(sequence.numPromptTokens);
    const { position, tokenIds } = match.forced;
    // The thread may be a step behind: the text has gone on since, the way they say or another.
    const since = output.subarray(Math.max(0, position));
    const cameTrue = since.every((tokenId, index) => tokenId === tokenIds[index]);
    return position >= 0 && cameTrue ? tokenIds.subarray(since.length) : NOTHING;
  }

  /** Has the masks behind each token of a draft worked out while that is verified. */
  draft(sequence: Sequence, draftTokenIds: Int32Array): void {
    const matcher = this.#matchers.get(sequence.id);
    if (matcher === undefined) return;
    const { id } = sequence;
    const number = ++matcher.numDrafts;
    const tokenIds = draftTokenIds.slice();
    matcher.thread.grammarThread.post({ type: 'draft', id, number, tokenIds });
  }

  /**
   * Gives a sequence whose draft has come true up to its token `index` the mask behind that.
   * @returns false when there is none: the sequence has to go on with another step
   */
  constrainBehind(sequence: Sequence, index: number): boolean {
    const matcher = this.#matchers.get(sequence.id);
    if (matcher === undefined) return true;
    const { match, numDrafts } = matcher;
    if (!match.waitForMask(1 + index, numDrafts, IDLE_WAIT_MS)) return false;
    const mask = match.mask(1 + index);
    if (mask !== null) sequence.tokenMask = mask;
    return mask !== null;
  }

  /**
   * Takes sampled tokens into account; the masks of what follows are worked out from here on.
   * @param looksAhead also for tokens that are forced behind those
   */
  accept(sampled: readonly SampledToken[], looksAhead: boolean): void {
    if (this.#matchers.size === 0) return;
    const tokens = new Map<Thread, [number, number][]>();
    for (const { sequence, tokenId } of sampled) {
      const matcher = this.#matchers.get(sequence.id);
      if (matcher === undefined) continue;
      matcher.wasRestarted = false;
      const ofThread = tokens.get(matcher.thread) ?? [];
      ofThread.push([sequence.id, tokenId]);
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
    matcher.thread.grammarThread.post({ type: 'close', id });
  }

  /** Ends the threads. */
  release(): void {
    this.#isReleased = true;
    this.#matchers.clear();
    for (const { grammarThread } of this.#threads) {
      grammarThread.terminate('the engine stops');
    }
  }

  #post({ sequence, ebnf, match, thread }: Matcher): void {
    const tokenIds = sequence.tokenIds(sequence.numPromptTokens).slice();
    thread.grammarThread.post({ type: 'open', id: sequence.id, ebnf, tokenIds, match: match.data });
  }

  /** The thread that knows the grammar, else the one with the fewest sequences. */
  #threadFor(ebnf: string): Thread {
    const known = this.#threads.find(({ grammars }) => grammars.has(ebnf));
    if (known !== undefined) return known;
    const load = (thread: Thread) =>
      [...this.#matchers.values()].filter((matcher) => matcher.thread === thread).length;
    const [idlest] = this.#threads.toSorted((a, b) => load(a) - load(b));
    const isFree = idlest !== undefined && load(idlest) === 0;
    const thread =
      isFree || (idlest !== undefined && this.#threads.length === NUM_THREADS)
        ? idlest
        : this.#startThread();
    thread.grammars.add(ebnf);
    for (const oldest of thread.grammars) {
      if (thread.grammars.size <= MAX_REMEMBERED) break;
      thread.grammars.delete(oldest);
    }
    return thread;
  }

  #startThread(): Thread {
    const grammarThread = new GrammarThread({
      vocabulary: this.#vocabulary,
      timeoutMs: this.#timeoutMs,
      onEnd: () => this.#replace(thread),
    });
    const thread: Thread = { grammarThread, grammars: new Set() };
    this.#threads.push(thread);
    return thread;
  }

  /** Sequences of a thread that ended start again in another, behind the tokens they have. */
  #replace(thread: Thread): void {
    this.#threads = this.#threads.filter((other) => other !== thread);
    for (const matcher of this.#matchers.values()) {
      if (matcher.thread !== thread) continue;
      if (matcher.wasRestarted) {
        matcher.match.publishMask(0, matcher.sequence.numOutputTokens, null);
        continue;
      }
      matcher.wasRestarted = true;
      matcher.waitingSince = -1;
      matcher.thread = this.#threadFor(matcher.ebnf);
      this.#post(matcher);
    }
  }

  #checkTime(matcher: Matcher): void {
    const now = performance.now();
    if (matcher.waitingSince === -1) matcher.waitingSince = now;
    if (now - matcher.waitingSince < this.#timeoutMs) return;
    matcher.thread.grammarThread.terminate('a grammar takes too long to match');
  }
}
