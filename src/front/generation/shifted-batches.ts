/** Has an engine go on with a text beyond its context. */
import type { EngineRequest } from '../../engine/request.ts';
import type { Engine, TokenBatch } from '../engine-process/engine-contract.ts';
import { choiceSeed } from './choice-seed.ts';
import type { ContextShift } from './generation.ts';

type Wanted = Omit<EngineRequest, 'id'>;

/**
 * The batches of one text. Where it fills the context, its sequence ends, and another one begins whose
 * prompt is what stays of the text. That is computed anew, so that positions and keys are those of any
 * prompt: llama.cpp moves keys in its cache instead, which no prompt has like that.
 *
 * Where it is shifted depends on lengths alone, so an answer that began elsewhere goes on as it would there.
 */
export class ShiftedBatches implements AsyncIterableIterator<TokenBatch, void> {
  readonly #engine: Pick<Engine, 'generate'>;
  readonly #signal: AbortSignal;
  readonly #text: ShiftedText;
  #batches: AsyncIterator<TokenBatch>;
  #isFirst = true;
  #isOver = false;

  constructor(
    engine: Pick<Engine, 'generate'>,
    wanted: Wanted,
    shift: ContextShift,
    signal: AbortSignal,
  ) {
    this.#engine = engine;
    this.#signal = signal;
    this.#text = new ShiftedText(wanted, shift);
    this.#batches = this.#begin();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<TokenBatch, void>> {
    const result = await this.#batches.next();
    if (result.done === true) return { done: true, value: undefined };
    const { numCachedTokens, ...told } = result.value;
    // Tokens found of a later prompt are no part of the one that was asked.
    const batch = this.#isFirst ? { ...told, numCachedTokens } : told;
    if (batch.tokenIds.length > 0) this.#isFirst = false;
    this.#text.add(batch.tokenIds);
    if (batch.finishReason !== 'length' || this.#text.isComplete)
      return { done: false, value: batch };
    await this.#batches.return?.();
    if (!this.#isOver) this.#batches = this.#begin();
    return { done: false, value: { ...batch, finishReason: null } };
  }

  async return(): Promise<IteratorResult<TokenBatch, void>> {
    this.#isOver = true;
    await this.#batches.return?.();
    return { done: true, value: undefined };
  }

  #begin(): AsyncIterator<TokenBatch> {
    return this.#engine.generate(this.#text.next(), this.#signal)[Symbol.asyncIterator]();
  }
}

/** A text that is longer than its context. */
class ShiftedText {
  readonly #wanted: Wanted;
  readonly #shift: ContextShift;
  #promptTokenIds: Int32Array;
  /** Tokens since the last shift. */
  #output: number[] = [];
  /** Tokens of output before it. */
  #numBefore = 0;
  #numShifts = 0;

  constructor(wanted: Wanted, shift: ContextShift) {
    this.#wanted = wanted;
    this.#shift = shift;
    this.#promptTokenIds = wanted.promptTokenIds;
    for (const tokenId of wanted.outputTokenIds) {
      this.#makeRoom();
      this.#output.push(tokenId);
    }
  }

  add(tokenIds: readonly number[]): void {
    this.#output.push(...tokenIds);
  }

  get isComplete(): boolean {
    return this.#numBefore + this.#output.length >= this.#wanted.maxTokens;
  }

  /** Request for its next tokens. */
  next(): Wanted {
    this.#makeRoom();
    const { maxTokens, minTokens, sampling } = this.#wanted;
    const room = this.#shift.contextLength - this.#promptTokenIds.length;
    return {
      ...this.#wanted,
      promptTokenIds: this.#promptTokenIds,
      outputTokenIds: Int32Array.from(this.#output),
      maxTokens: Math.min(room, maxTokens - this.#numBefore),
      minTokens: Math.max(0, minTokens - this.#numBefore),
      // Numbers are drawn by position, and positions come again.
      sampling: { ...sampling, seed: choiceSeed(sampling.seed, this.#numShifts) },
    };
  }

  /** Leaves out what no longer fits. */
  #makeRoom(): void {
    const { contextLength, numKept } = this.#shift;
    const length = this.#promptTokenIds.length + this.#output.length;
    if (length < contextLength) return;
    const text = new Int32Array(length);
    text.set(this.#promptTokenIds);
    text.set(this.#output, this.#promptTokenIds.length);
    const numLeftOut = Math.max(1, Math.floor((length - numKept) / 2));
    text.copyWithin(numKept, numKept + numLeftOut);
    this.#promptTokenIds = text.slice(0, length - numLeftOut);
    this.#numBefore += this.#output.length;
    this.#output = [];
    this.#numShifts++;
  }
}
