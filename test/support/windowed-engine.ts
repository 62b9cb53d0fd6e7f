import { CpuDecoder } from '../../src/engine/cpu/cpu-decoder.ts';
import { JournaledDecoder } from '../../src/engine/cpu/journaled-decoder.ts';
import { CostModel } from '../../src/engine/costs/cost-model.ts';
import { Engine } from '../../src/engine/engine.ts';
import { SlotCache } from '../../src/engine/kv-cache/slot-cache.ts';
import { bytesOfPositions, type KvShape, kvShape } from '../../src/engine/kv-shape.ts';
import { windowsOf } from '../../src/engine/process/windows-of.ts';
import type { EngineRequest, TokenOutput } from '../../src/engine/request.ts';
import { Sampler } from '../../src/engine/sampling/sampler.ts';
import { Scheduler } from '../../src/engine/scheduling/scheduler.ts';
import type { DraftSource } from '../../src/engine/speculation/draft-source.ts';
import { Speculator } from '../../src/engine/speculation/speculator.ts';
import type { CacheOperation } from '../../src/engine/cache-operation.ts';
import type { StepPlan } from '../../src/engine/step.ts';
import { wholePages } from '../../src/engine/windows/window-budget.ts';
import type { BuiltModel } from '../../src/model/manifest.ts';

export const MAX_SEQS = 3;
export const CAPACITY = 2048;
const MAX_DRAFT_TOKENS = 6;

export interface WindowedShape {
  readonly maxNumBatchedTokens: number;
  /** Memory beyond that of the longest text, in pages; enough for all slots if left out. */
  readonly sparePages?: number;
  /** Whether memory behind windows is given back. */
  readonly givesBack: boolean;
  readonly prefixCaching?: boolean;
  readonly drafts?: DraftSource | null;
  /** Descriptor of shared memory of `sharedBytes`, for a cache that outlives the engine. */
  readonly sharedMemoryFd?: number;
}

/** An engine over a model whose layers have sliding windows, with its KV cache in slots as a server has it. */
export class WindowedEngine {
  readonly engine: Engine;
  readonly kvCache: SlotCache;
  readonly shape: KvShape;
  /** Ranges given back in windowed layers alone. */
  numGivenBack = 0;
  /** Copies of windows. */
  numPartCopies = 0;
  readonly #decoder: CpuDecoder;

  constructor(model: BuiltModel, shape: WindowedShape) {
    const { maxNumBatchedTokens, givesBack, prefixCaching = true, drafts: source = null } = shape;
    const { sparePages, sharedMemoryFd = null } = shape;
    const numSlots = 2 * MAX_SEQS;
    this.shape = kvShape(model.manifest, numSlots, CAPACITY);
    const { pageLength } = this.shape;
    const limits = { maxNumBatchedTokens, prefixCaching, durableKv: sharedMemoryFd !== null };
    const windows = givesBack ? windowsOf(limits, model.manifest, this.shape) : null;
    if (givesBack && windows === null) throw new Error('the model has no windows to give back');
    const ofLongest = (windows ?? wholePages(pageLength)).pagesOf(CAPACITY);
    const budget = sparePages === undefined ? {} : { maxPages: ofLongest + sparePages };
    const slots = { numSlots, capacity: CAPACITY, pageLength, prefixCaching, windows };
    const kvCache = new SlotCache({ ...slots, ...budget });
    this.kvCache = kvCache;
    const costs = new CostModel();
    const options = { maxNumSeqs: MAX_SEQS, maxNumBatchedTokens, targetItlMs: null };
    this.#decoder = new CpuDecoder(model, {
      numSlots,
      maxModelLen: CAPACITY,
      slots: kvCache,
      costs,
      sharedMemoryFd,
      maxDraftTokens: MAX_DRAFT_TOKENS,
      session: { intraOpThreads: 1 },
    });
    const speculator =
      source &&
      new Speculator({
        source,
        kvCache,
        costs,
        states: null,
        maxTokens: MAX_DRAFT_TOKENS,
        maxNumBatchedTokens,
        minGain: 0,
      });
    const { journal } = this.#decoder.storage;
    const durable = journal && new JournaledDecoder(this.#decoder, journal, kvCache);
    const decoder = durable ?? this.#decoder;
    this.engine = new Engine({
      scheduler: new Scheduler(kvCache, costs, options, speculator),
      speculator,
      kvCache,
      durable,
      decoder: {
        execute: (plan: StepPlan) => {
          plan.cacheOperations.forEach((operation) => this.#count(operation));
          return decoder.execute(plan);
        },
        release: () => {},
      },
      sampler: new Sampler(model.manifest.vocabSize),
      costs,
    });
  }

  /** Memory that the bookkeeping says the cache may have. */
  get residentBytes(): number {
    const { numResidentPages } = this.kvCache;
    return numResidentPages * bytesOfPositions(this.shape, this.shape.pageLength);
  }

  /** Everything that a request gets, alone. */
  textOf(request: EngineRequest): TokenOutput[] {
    this.engine.add(request);
    const outputs: TokenOutput[] = [];
    while (this.engine.hasWork) outputs.push(...this.engine.step());
    return outputs;
  }

  release(): void {
    this.#decoder.release();
  }

  #count(operation: CacheOperation): void {
    if (operation.type === 'discard') this.numGivenBack += Number(operation.isWindowed ?? false);
    if (operation.type === 'copy') this.numPartCopies += Number(operation.windows !== undefined);
  }
}
