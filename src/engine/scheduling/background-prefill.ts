import type { CostModel } from '../costs/cost-model.ts';
import type { KvCache } from '../kv-cache/kv-cache.ts';
import { wholeBlocks } from '../kv-cache/prefix-index.ts';
import type { Sequence } from '../sequence.ts';
import { segmentOf, type StepPlan } from '../step.ts';
import { mostWithin } from '../costs/most-within.ts';

/** A request that comes while a prompt is computed for nobody waits about this long at most. */
const STEP_MS = 10;
/** However long that takes: otherwise there would be no progress. */
const MIN_STEP_TOKENS = 16;

/**
 * Prompts that nobody waits for, computed one after the other in steps that would otherwise be empty.
 * As soon as a request arrives they hold nothing: the computed part stays as a cached text, which may
 * be evicted like any other, and they go on from it when there is time again.
 */
export class BackgroundPrefill {
  readonly #kvCache: KvCache;
  readonly #costs: CostModel;
  readonly #maxTokens: number;
  /** First come, first computed. */
  readonly #line = new Set<Sequence>();

  /** @param maxTokens that a step computes */
  constructor(kvCache: KvCache, costs: CostModel, maxTokens: number) {
    this.#kvCache = kvCache;
    this.#costs = costs;
    this.#maxTokens = maxTokens;
  }

  get hasWork(): boolean {
    return this.#line.size > 0;
  }

  add(sequence: Sequence): void {
    this.#line.add(sequence);
  }

  /** Unknown ids are ignored. */
  abort(id: number): void {
    const sequence = [...this.#line].find((each) => each.id === id);
    if (sequence === undefined) return;
    if (sequence.slot !== -1) this.#kvCache.release(sequence, true);
    this.ended(sequence);
  }

  /** It is done, and holds nothing any more. */
  ended(sequence: Sequence): void {
    this.#line.delete(sequence);
  }

  /** To be called before requests get slots. */
  suspend(): void {
    for (const each of this.#line) if (each.slot !== -1) this.#kvCache.release(each, true);
  }

  /** A step, where no request runs or waits. */
  plan(): StepPlan | null {
    const [first] = this.#line;
    if (first === undefined) return null;
    if (first.slot === -1 && !this.#kvCache.reserve(first, 0)) {
      throw new Error(`request ${first.id} does not fit an empty KV cache`);
    }
    if (first.numCachedTokens === -1) first.numCachedTokens = wholeBlocks(first.numComputedTokens);
    const cacheOperations = this.#kvCache.drainOperations();
    return { cacheOperations, segments: [segmentOf(first, this.#stepTokens(first))] };
  }

  #stepTokens({ numComputedTokens: start, numUncomputedTokens }: Sequence): number {
    const limit = Math.min(numUncomputedTokens, this.#maxTokens);
    const costMs = (length: number) => this.#costs.prefillMs([{ start, length }]);
    return Math.max(mostWithin(STEP_MS, limit, costMs), Math.min(limit, MIN_STEP_TOKENS));
  }
}
