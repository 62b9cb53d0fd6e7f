import type { Draft, DraftSource } from './draft-source.ts';
import { shadowOf } from './shadow.ts';
import { TokenCost } from './token-cost.ts';
import { commonLength } from '../common-length.ts';
import { Sampler } from '../sampling/sampler.ts';
import type { Sequence } from '../sequence.ts';
import { type Decoder, segmentOf } from '../step.ts';

const PRIOR_RATE = 0.6;

/** A slot of the draft model's cache, and the text whose keys and values it holds. */
interface DraftSlot {
  readonly index: number;
  sequence: Sequence | null;
  tokenIds: Int32Array;
  lastUsed: number;
}

export interface ModelDraftsOptions {
  /** Decoder of the draft model, with a cache of its own. */
  readonly decoder: Decoder;
  readonly vocabSize: number;
  readonly numSlots: number;
  /** Positions per slot. */
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
  readonly #slots: readonly DraftSlot[];
  #clock = 0;
  readonly #cost = new TokenCost();

  constructor({ decoder, vocabSize, numSlots, capacity }: ModelDraftsOptions) {
    this.#decoder = decoder;
    this.#sampler = new Sampler(vocabSize);
    this.#capacity = capacity;
    this.#slots = Array.from({ length: numSlots }, (_, index) => ({
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
    return this.#cost.ofTokens(numTokens);
  }

  draft(sequence: Sequence, numTokens: number): Draft {
    const slot = this.#slotFor(sequence);
    const shadow = followerOf(sequence, slot);
    const end = Math.min(sequence.numTokens + numTokens, this.#capacity);
    while (shadow.numTokens < end) {
      const tokenId = this.#next(shadow);
      if (tokenId === null) break;
      shadow.append(tokenId);
    }
    slot.tokenIds = shadow.tokenIds(0, shadow.numComputedTokens).slice();
    const tokenIds = shadow.tokenIds(sequence.numTokens).slice();
    return { tokenIds, kinds: Array.from(tokenIds, () => 0) };
  }

  /** Computes what the cache lacks and draws the next token; null when the draft model fails. */
  #next(shadow: Sequence): number | null {
    const segment = segmentOf(shadow, shadow.numUncomputedTokens);
    const startedAt = performance.now();
    const result = this.#decoder.execute({ cacheOperations: [], segments: [segment] });
    if (result.failures.length > 0) return null;
    shadow.numComputedTokens += segment.numTokens;
    const [sampled] = this.#sampler.sample(result).sampled;
    if (segment.numTokens === 1) this.#cost.observe(performance.now() - startedAt);
    return sampled?.tokens[0]?.tokenId ?? null;
  }

  /** The sequence's own slot, otherwise the least recently used one. */
  #slotFor(sequence: Sequence): DraftSlot {
    const [oldest] = this.#slots.toSorted((a, b) => a.lastUsed - b.lastUsed);
    const slot = this.#slots.find((other) => other.sequence === sequence) ?? oldest;
    if (!slot) throw new Error('the draft model has no slots');
    slot.sequence = sequence;
    slot.lastUsed = ++this.#clock;
    return slot;
  }

  release(): void {
    this.#decoder.release();
  }
}

/** The sequence's current state, for the draft model to continue. */
function followerOf(sequence: Sequence, slot: DraftSlot): Sequence {
  // Embeddings have the other model's width: in their place this one sees a token.
  const { embeddings: _, ...text } = sequence.request;
  const shadow = shadowOf(sequence, text);
  shadow.slot = slot.index;
  // At least one token is left to compute: its logits are wanted.
  const known = commonLength(slot.tokenIds, sequence.tokenIds());
  shadow.numComputedTokens = Math.min(known, sequence.numTokens - 1);
  return shadow;
}
