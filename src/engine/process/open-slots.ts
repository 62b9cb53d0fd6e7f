import { BLOCK_SIZE } from '../kv-cache/prefix-index.ts';
import { createSharedMemory } from '../../ort/native-memory.ts';
import type { SessionOptions } from '../../ort/session-options.ts';
import { CpuDecoder } from '../cpu/cpu-decoder.ts';
import { JournaledDecoder } from '../cpu/journaled-decoder.ts';
import { KvStorage } from '../cpu/kv-storage.ts';
import { CPU_DEVICE, type DeviceOptions } from '../gpu/device-options.ts';
import { DeviceDecoder } from '../gpu/slots/device-decoder.ts';
import { DeviceKvStorage } from '../gpu/slots/device-kv-storage.ts';
import type { BlockLog } from '../kv-cache/block-log.ts';
import { bytesOfPositions, type KvShape, kvShape } from '../kv-shape.ts';
import { SlotCache } from '../kv-cache/slot-cache.ts';
import { CostModel } from '../costs/cost-model.ts';
import type { PredictionModule } from '../prediction.ts';
import { openTier } from '../prefix-tier/open-tier.ts';
import type { PrefixTier } from '../prefix-tier/prefix-tier.ts';
import { TieredSlotCache } from '../prefix-tier/tiered-slot-cache.ts';
import { type StateBudget, stateBudget } from '../states/state-budget.ts';
import { StateCache } from '../states/state-cache.ts';
import { StatefulDecoder } from '../states/stateful-decoder.ts';
import type { Decoder } from '../step.ts';
import { wholePages } from '../windows/window-budget.ts';
import type { EngineOptions } from './protocol.ts';
import { windowsOf } from './windows-of.ts';

/** A decoder with its KV cache in slots. */
export interface OpenedSlots {
  readonly decoder: Decoder;
  readonly kvCache: SlotCache;
  readonly costs: CostModel;
  /** Null of a model without. */
  readonly states: StateCache | null;
  readonly kvCacheBytes: number;
  readonly kvCacheTokens: number;
  /** See EngineInfo. */
  readonly hiddenSize: number | null;
  readonly embeddingWidth: number | null;
  /** The decoder of a durable KV cache; null without one. */
  readonly durable: JournaledDecoder | null;
  readonly sharedMemoryFd: number | null;
  /** Prefixes kept beyond the KV cache; null if none are. */
  readonly tier: PrefixTier | null;
  /** The model's module that predicts; null if none was built. */
  readonly prediction: PredictionModule | null;
  /** See OpenedEngine. */
  readonly settle: ((ms: number) => boolean) | null;
}

/**
 * Opens a model with its KV cache in slots, as far as the budget allows.
 * @param inheritedMemory descriptor of the durable KV cache of an earlier engine, same options
 * @param blocks receives the changes of the prefix cache
 * @throws OrtError, on a device DeviceError, when the model does not run or the device lacks memory;
 *   Error when the budget is too small
 */
export function openSlots(
  options: EngineOptions,
  session: SessionOptions,
  inheritedMemory: number | null,
  blocks: BlockLog | null,
): OpenedSlots {
  const { model, device = CPU_DEVICE, maxModelLen, prefixCaching } = options;
  const isCpu = device.name === 'cpu';
  const shape = isCpu
    ? kvShape(model.manifest, wantedSlots(options), maxModelLen)
    : deviceShape(options, device);
  const { pageLength, numSlots } = shape;
  const bytesPerPage = bytesOfPositions(shape, pageLength);
  // On the CPU a page for each sequence is set aside: a dead slot has to write somewhere.
  const setAsidePages = isCpu ? options.maxNumSeqs : 0;
  const budget = budgetOfStates(options, shape);
  const states = budget && new StateCache({ ...budget, minLength: BLOCK_SIZE, prefixCaching });
  const stateBytes = budget?.byteLength ?? 0;
  const windows = windowsOf(options, model.manifest, shape);
  const pages = windows ?? wholePages(pageLength);
  const left = options.kvCacheMemory - stateBytes;
  // Where no layer attends, positions take no memory.
  const affordable = bytesPerPage === 0 ? Infinity : Math.floor(left / bytesPerPage);
  const maxPages = Math.min(numSlots * pages.pagesOf(shape.capacity), affordable - setAsidePages);
  const costs = new CostModel();
  const slotOptions = {
    numSlots,
    capacity: maxModelLen,
    pageLength,
    maxPages,
    prefixCaching,
    blocks,
    states,
    windows,
  };
  const tier =
    options.prefixTier && isCpu ? openTier(options.prefixTier, { model, shape, costs }) : null;
  const kvCache = tier ? new TieredSlotCache(slotOptions, tier) : new SlotCache(slotOptions);
  if (kvCache.maxTokens < Math.min(2 * pageLength, maxModelLen)) {
    throw new Error(
      `${options.kvCacheMemory} bytes are too few for a KV cache: ${pageLength} tokens of one ` +
        `sequence take ${bytesPerPage}, and ${options.maxNumSeqs} sequences are to run at once`,
    );
  }
  const kvCacheBytes = maxPages * bytesPerPage + stateBytes;
  // Texts take the fewest pages for each token where they are longest.
  const pagesPerToken = pages.pagesOf(shape.capacity) / shape.capacity;
  const memory = { kvCacheBytes, kvCacheTokens: Math.floor(maxPages / pagesPerToken) };
  const maxDraftTokens = options.speculative?.maxTokens ?? 0;
  const common = { numSlots, maxModelLen, maxDraftTokens, slots: kvCache, session };
  if (!isCpu) {
    const decoder = new DeviceDecoder(model, { ...common, device });
    const nothing = { hiddenSize: null, embeddingWidth: null, durable: null, sharedMemoryFd: null };
    const parts = { decoder, kvCache, costs, states, ...memory, ...nothing };
    return { ...parts, tier, prediction: null, settle: null };
  }
  const sharedMemoryFd = options.durableKv
    ? (inheritedMemory ?? createSharedMemory(KvStorage.byteLength(shape)))
    : null;
  const decoder = new CpuDecoder(model, {
    ...common,
    costs,
    sharedMemoryFd,
    sharesWeights: options.sharesWeights ?? false,
    maxRunTokens: options.maxNumBatchedTokens,
    adapters: options.adapters,
    states,
    // A crash changes which tokens are computed together: that must not change a text.
    reproducible: options.durableKv ?? false,
  });
  tier?.attach(kvCache, decoder.storage);
  const { journal } = decoder.storage;
  const durable = journal && new JournaledDecoder(decoder, journal, kvCache);
  const { hiddenSize, embeddingWidth, prediction } = decoder;
  const stateful = states && new StatefulDecoder(decoder, states);
  const settle = (ms: number) => decoder.weights.settle(ms);
  const parts = { decoder: durable ?? stateful ?? decoder, kvCache, costs, states, ...memory };
  return {
    ...parts,
    hiddenSize,
    embeddingWidth,
    durable,
    sharedMemoryFd,
    tier,
    prediction,
    settle,
  };
}

/**
 * The cache's shape on a device. It is allocated as a whole. If the budget is too small for all
 * slots, there are fewer, and sequences wait for one.
 */
function deviceShape(options: EngineOptions, device: DeviceOptions): KvShape {
  const { model, maxModelLen, kvCacheMemory } = options;
  const { manifest } = model;
  if (manifest.kvCacheDtype === 'int8') {
    throw new Error(`an int8 KV cache needs the CPU, not ${device.name}`);
  }
  const shape = kvShape(manifest, wantedSlots(options), maxModelLen);
  const affordable = DeviceKvStorage.slotsWithin(kvCacheMemory, shape);
  if (affordable < 1) {
    throw new Error(
      `${kvCacheMemory} bytes are too few for a KV cache on ${device.name}: it is allocated as a ` +
        `whole, and has not room for two slots of ${maxModelLen} positions. Raise ` +
        '--kv-cache-memory or lower --max-model-len',
    );
  }
  return { ...shape, numSlots: Math.min(shape.numSlots, affordable) };
}

/** Memory that states take of the KV cache's; null of a model without. */
function budgetOfStates(options: EngineOptions, shape: KvShape): StateBudget | null {
  const { states } = options.model.manifest;
  if (states === undefined) return null;
  const { maxNumSeqs, prefixCaching, kvCacheMemory: memoryBytes } = options;
  const bytesPerPosition = bytesOfPositions(shape, shape.pageLength) / shape.pageLength;
  const demand = { ...shape, states, maxNumSeqs, prefixCaching, memoryBytes, bytesPerPosition };
  return stateBudget(demand);
}

/** Spare slots keep finished texts while every sequence runs. On the CPU they are address space. */
function wantedSlots({ prefixCaching, maxNumSeqs }: EngineOptions): number {
  return prefixCaching ? 2 * maxNumSeqs : maxNumSeqs;
}
