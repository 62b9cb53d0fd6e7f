import type { Decoder } from '../cpu/cpu-decoder.ts';
import type { Draft, DraftSource } from './draft-source.ts';
import { commonLength } from '../kv-cache/slot-cache.ts';
import { Sampler } from '../sampling/sampler.ts';
import { Sequence } from '../sequence.ts';

const PRIOR_RATE = 0.6;
/** Of a new measurement of what a token costs. */
const SMOOTHING = 0.1;

/** A row of the draft model's cache, and the text whose keys and values it holds. */
interface DraftRow {
  readonly index: number;
  sequence: Sequence | null;
  tokenIds: Int32Array;
  lastUsed: number;
}

export interface ModelDraftsOptions {
  /** Of the draft model, with a cache of its own. */
  readonly decoder: Decoder;
  readonly vocabSize: number;
  readonly numRows: number;
  /** Positions per row. */
  readonly capacity: number;
}

/**
 * Drafts from a smaller model with the same tokenizer. It draws its tokens with the sequence's own
 * parameters, seed and positions: where both models agree on the probabilities they draw the same.
 */
export class ModelDrafts implements DraftSource {
  readonly isFree = false;
  readonly #decoder: Decoder;
  readonly #sampler: Sampler;
  readonly #capacity: number;
  readonly #rows: readonly DraftRow[];
  #clock = 0;
  #msPerToken = 0;

  constructor({ decoder, vocabSize, numRows, capacity }: ModelDraftsOptions) {
    this.#decoder = decoder;
    this.#sampler = new Sampler(vocabSize);
    this.#capacity = capacity;
    this.#rows = Array.from({ length: numRows }, (_, index) => ({
      index,
      sequence: null,
      tokenIds: new Int32Array(),
      lastUsed: 0,
    }));
  }

  priorRate(): number {
    return PRIOR_RATE;
  }

  costMs(numTokens: number): number {
    return numTokens * this.#msPerToken;
  }

  draft(sequence: Sequence, numTokens: number): Draft {
    const row = this.#rowFor(sequence);
    const shadow = shadowOf(sequence, row);
    const end = Math.min(sequence.numTokens + numTokens, this.#capacity);
    while (shadow.numTokens < end) {
      const tokenId = this.#next(shadow);
      if (tokenId === null) break;
      shadow.append(tokenId);
    }
    row.tokenIds = shadow.tokenIds(0, shadow.numComputedTokens).slice();
    const tokenIds = shadow.tokenIds(sequence.numTokens).slice();
    return { tokenIds, kinds: Array.from(tokenIds, () => 0) };
  }

  /** Computes what the cache lacks and draws the next token; null when the draft model fails. */
  #next(shadow: Sequence): number | null {
    const start = shadow.numComputedTokens;
    const length = shadow.numUncomputedTokens;
    const startedAt = performance.now();
    const { rows, failures } = this.#decoder.execute({
      cacheOperations: [],
      decode: [],
      prefill: [[{ sequence: shadow, start, length }]],
      numBatchedTokens: length,
    });
    if (failures.length > 0) return null;
    shadow.numComputedTokens = start + length;
    const [sampled] = this.#sampler.sample(rows).sampled;
    if (length === 1) this.#observe(performance.now() - startedAt);
    return sampled?.tokenId ?? null;
  }

  #observe(ms: number): void {
    const weight = this.#msPerToken === 0 ? 1 : SMOOTHING;
    this.#msPerToken += weight * (ms - this.#msPerToken);
  }

  /** The sequence's own row, else the one that was not used for longest. */
  #rowFor(sequence: Sequence): DraftRow {
    const [oldest] = this.#rows.toSorted((a, b) => a.lastUsed - b.lastUsed);
    const row = this.#rows.find((other) => other.sequence === sequence) ?? oldest;
    if (!row) throw new Error('the draft model has no rows');
    row.sequence = sequence;
    row.lastUsed = ++this.#clock;
    return row;
  }

  release(): void {
    this.#decoder.release();
  }
}

/** The sequence as it is now, for the draft model to go on with. */
function shadowOf(sequence: Sequence, row: DraftRow): Sequence {
  const { request, numPromptTokens, numTokens } = sequence;
  const shadow = new Sequence({
    ...request,
    outputTokenIds: sequence.tokenIds(numPromptTokens),
    logprobs: null,
    promptLogprobs: null,
  });
  shadow.row = row.index;
  // One token at least is left to compute: its logits are wanted.
  const known = commonLength(row.tokenIds, sequence.tokenIds());
  shadow.numComputedTokens = Math.min(known, numTokens - 1);
  return shadow;
}
