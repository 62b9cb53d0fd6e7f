import type { KvCache } from './kv-cache.ts';
import type { TokenOutput } from './messages.ts';
import type { Sequence } from './sequence.ts';
import type {
  DecodeRow,
  PrefillChunk,
  SampledToken,
  SequenceFailure,
  StepPlan,
} from './step-plan.ts';

/**
 * Decides what each iteration computes: every sequence with one token to compute decodes, then
 * prefill chunks fill the token budget, first come first served.
 *
 * `plan` reserves rows and otherwise changes nothing; `commit` publishes what an executed plan gave.
 */
export class Scheduler {
  readonly #kvCache: KvCache;
  readonly #maxNumBatchedTokens: number;
  /** Without a row, in order of arrival. */
  #waiting: Sequence[] = [];
  /** With a row, in order of admission. */
  #running: Sequence[] = [];

  /** @param maxNumBatchedTokens at least the cache's rows, so that every sequence can decode */
  constructor(kvCache: KvCache, maxNumBatchedTokens: number) {
    if (maxNumBatchedTokens < kvCache.numRows) {
      throw new RangeError(
        `maxNumBatchedTokens (${maxNumBatchedTokens}) is below the number of rows (${kvCache.numRows})`,
      );
    }
    this.#kvCache = kvCache;
    this.#maxNumBatchedTokens = maxNumBatchedTokens;
  }

  get waiting(): readonly Sequence[] {
    return this.#waiting;
  }

  get running(): readonly Sequence[] {
    return this.#running;
  }

  get hasWork(): boolean {
    return this.#running.length > 0 || this.#waiting.length > 0;
  }

  add(sequence: Sequence): void {
    this.#waiting.push(sequence);
  }

  /** Forgets a sequence and frees its row at once. Unknown ids (already finished) are ignored. */
  abort(id: number): void {
    this.#waiting = this.#waiting.filter((sequence) => sequence.id !== id);
    const running = this.#running.find((sequence) => sequence.id === id);
    if (running) this.#finish(running);
  }

  /** The next iteration, or null when there is nothing to do. */
  plan(): StepPlan | null {
    if (!this.hasWork) return null;
    this.#admit();
    const moves = this.#kvCache.compact();
    const decoding = this.#running.filter(isDecoding);
    const prefill = this.#planPrefill(this.#maxNumBatchedTokens - decoding.length);
    const numPrefillTokens = prefill.reduce((sum, chunk) => sum + chunk.length, 0);
    return {
      moves,
      decode: this.#planDecode(),
      prefill,
      numBatchedTokens: decoding.length + numPrefillTokens,
    };
  }

  /**
   * Makes an executed plan visible: advances what was computed, appends what was sampled, frees what
   * has ended.
   */
  commit(
    plan: StepPlan,
    sampled: readonly SampledToken[],
    failures: readonly SequenceFailure[],
  ): TokenOutput[] {
    const failed = new Set(failures.map((failure) => failure.sequence));
    for (const { sequence } of plan.decode) {
      if (sequence && !failed.has(sequence)) sequence.numComputedTokens += 1;
    }
    for (const { sequence, length } of plan.prefill) {
      if (!failed.has(sequence)) sequence.numComputedTokens += length;
    }
    const outputs: TokenOutput[] = [];
    for (const { sequence, tokenId } of sampled) {
      sequence.append(tokenId);
      const finishReason = sequence.finishReason();
      if (finishReason) this.#finish(sequence);
      outputs.push({ id: sequence.id, tokenId, finishReason });
    }
    for (const { sequence, message } of failures) {
      this.#finish(sequence);
      outputs.push({ id: sequence.id, tokenId: -1, finishReason: 'error', error: message });
    }
    return outputs;
  }

  /** Rows go to the longest waiting, as long as there is a row and budget for its first token. */
  #admit(): void {
    let budget = this.#maxNumBatchedTokens;
    for (const sequence of this.#running) budget -= sequence.numUncomputedTokens;
    while (budget > 0) {
      const [head] = this.#waiting;
      if (!head || !this.#kvCache.reserve(head)) return;
      this.#waiting.shift();
      this.#running.push(head);
      budget -= head.numUncomputedTokens;
    }
  }

  #planDecode(): DecodeRow[] {
    const rows: DecodeRow[] = [];
    for (let row = 0; row < this.#kvCache.extent; row++) {
      const owner = this.#kvCache.ownerOf(row);
      // A dead row writes behind what its owner has cached, where the owner's next chunk goes anyway.
      rows.push({
        sequence: owner && isDecoding(owner) ? owner : null,
        position: owner?.numComputedTokens ?? 0,
      });
    }
    return rows.slice(0, rows.findLastIndex(({ sequence }) => sequence !== null) + 1);
  }

  #planPrefill(budget: number): PrefillChunk[] {
    const chunks: PrefillChunk[] = [];
    for (const sequence of this.#running) {
      if (budget <= 0) break;
      if (isDecoding(sequence)) continue;
      const length = Math.min(sequence.numUncomputedTokens, budget);
      chunks.push({ sequence, start: sequence.numComputedTokens, length });
      budget -= length;
    }
    return chunks;
  }

  #finish(sequence: Sequence): void {
    this.#kvCache.release(sequence);
    this.#running.splice(this.#running.indexOf(sequence), 1);
  }
}

/** One token to compute fits the batched decode run, be it sampled or the last of a prompt. */
function isDecoding(sequence: Sequence): boolean {
  return sequence.numUncomputedTokens === 1;
}
