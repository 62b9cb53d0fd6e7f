import { ortVersion } from '../../ort/environment.ts';
import { createSharedMemory } from '../../ort/native-memory.ts';
import type { SessionOptions } from '../../ort/session-options.ts';
import { CostModel } from '../scheduling/cost-model.ts';
import { OnnxDecoder } from '../cpu/cpu-decoder.ts';
import { CPU_DEVICE, type DeviceOptions } from '../gpu/device-options.ts';
import { DeviceDecoder } from '../gpu/slots/device-decoder.ts';
import type { DraftSource } from '../speculation/draft-source.ts';
import { Engine } from '../engine.ts';
import { GrammarDrafts } from '../speculation/grammar-drafts.ts';
import { GrammarMatchers } from '../constraints/grammar-matchers.ts';
import { KvCache } from '../kv-cache/slot-cache.ts';
import type { KvCacheManager } from '../kv-cache/kv-cache.ts';
import { kvShape, KvStorage } from '../cpu/kv-storage.ts';
import type { EngineInfo, EngineOptions, SpeculativeOptions } from './protocol.ts';
import { ModelDrafts } from '../speculation/model-drafts.ts';
import { NgramDrafts } from '../speculation/ngram-drafts.ts';
import { openDevice } from './open-slots.ts';
import { openPaged } from './open-paged.ts';
import type { PagedDecoder } from '../gpu/paged/paged-decoder.ts';
import { Sampler } from '../sampling/sampler.ts';
import { Scheduler } from '../scheduling/scheduler.ts';
import { Speculator } from '../speculation/speculator.ts';
import { MAX_VERIFY_RUNS } from '../step.ts';
import { usableCores } from '../cpu/usable-cores.ts';

/** An engine and the parts of it that own something. */
export interface OpenedEngine {
  readonly engine: Engine;
  readonly kvCache: KvCacheManager;
  /** To be released when the engine is done with. */
  readonly decoder: OnnxDecoder | DeviceDecoder | PagedDecoder;
  /** Likewise. */
  readonly speculator: Speculator | null;
  readonly info: EngineInfo;
}

/**
 * Loads a model and puts an engine together around it.
 * @param inheritedMemory descriptor of the durable KV cache of an earlier engine, same options
 * @throws OrtError, on a device DeviceError, when the graph can't be loaded; Error when the cache's
 *   memory is too small
 */
export function openEngine(
  options: EngineOptions,
  inheritedMemory: number | null = null,
): OpenedEngine {
  const { model } = options;
  const threads = options.threads || usableCores();
  const session = { intraOpThreads: threads };
  const { device = CPU_DEVICE, speculative = null } = options;
  const { decoder, kvCache, kvCacheBytes, sharedMemory } =
    options.attention === 'paged'
      ? { ...openPaged(options, device, session), sharedMemory: null }
      : openRows(options, device, session, inheritedMemory);
  const costs = new CostModel();
  const { durableKv: reproducible = false } = options;
  const scheduler = new Scheduler(kvCache, costs, { ...options, reproducible });
  const sampler = new Sampler(model.manifest.vocabSize);
  const { grammarVocabulary: vocabulary } = options;
  const maxDraftTokens = speculative?.maxTokens ?? 0;
  const grammars = vocabulary ? new GrammarMatchers({ vocabulary, maxDraftTokens }) : null;
  const source = speculative && draftSource(speculative, options, device, session);
  const speculator =
    source &&
    new Speculator({
      source,
      constrainedSource:
        grammars && new GrammarDrafts(grammars, source instanceof NgramDrafts ? source : null),
      kvCache,
      costs,
      maxTokens: speculative.maxTokens,
      ...(speculative.minGain === undefined ? {} : { minGain: speculative.minGain }),
      maxNumBatchedTokens: options.maxNumBatchedTokens,
    });
  const journal = decoder instanceof OnnxDecoder ? decoder.storage.journal : null;
  const parts = { scheduler, kvCache, decoder, sampler, costs, grammars, journal, speculator };
  return {
    engine: new Engine(parts),
    kvCache,
    decoder,
    speculator,
    info: {
      runtimeVersion: ortVersion(),
      device: device.name,
      numRows: kvCache.numRows,
      kvCacheBytes,
      threads,
      sharedMemory,
    },
  };
}

/** A decoder with the KV cache in rows. */
function openRows(
  options: EngineOptions,
  device: DeviceOptions,
  session: SessionOptions,
  inheritedMemory: number | null,
) {
  const { decoder, sharedMemory, setAsideBlocks } =
    device.name === 'cpu'
      ? openOnCpu(options, session, inheritedMemory)
      : openOnDevice(options, device, session);
  const { maxModelLen: capacity, prefixCaching, kvCacheMemory, maxNumSeqs } = options;
  const { shape, bytesPerBlock } = decoder.storage;
  const { blockSize, numRows } = shape;
  const wholeBlocks = (numRows * shape.capacity) / blockSize;
  const budgetBlocks = Math.floor(kvCacheMemory / bytesPerBlock);
  const maxBlocks = Math.min(wholeBlocks, budgetBlocks - setAsideBlocks);
  const kvCache = new KvCache({ numRows, capacity, blockSize, maxBlocks, prefixCaching });
  if (kvCache.maxTokens < Math.min(2 * blockSize, capacity)) {
    throw new Error(
      `${kvCacheMemory} bytes are too few for a KV cache: ${blockSize} tokens of one sequence ` +
        `take ${bytesPerBlock}, and ${maxNumSeqs} sequences are to run at once`,
    );
  }
  return { decoder, kvCache, kvCacheBytes: maxBlocks * bytesPerBlock, sharedMemory };
}

/** A decoder with its KV cache. */
interface OpenedDecoder {
  readonly decoder: OnnxDecoder | DeviceDecoder;
  readonly sharedMemory: number | null;
  /** Of the budget, not to be given to sequences. */
  readonly setAsideBlocks: number;
}

function openOnCpu(
  options: EngineOptions,
  session: SessionOptions,
  inheritedMemory: number | null,
): OpenedDecoder {
  const { model, maxNumSeqs, maxModelLen, speculative } = options;
  // Rows are address space, so that spare ones cost nothing.
  const numRows = wantedRows(options);
  const sharedMemory = options.durableKv
    ? (inheritedMemory ??
      createSharedMemory(KvStorage.byteLength(kvShape(model.manifest, numRows, maxModelLen))))
    : null;
  const decoder = new OnnxDecoder(model, {
    numRows,
    maxModelLen,
    sharedMemory,
    maxRunTokens: options.maxNumBatchedTokens,
    maxDraftTokens: speculative?.maxTokens ?? 0,
    // What a crash changes is when which tokens are computed: that must not change a text.
    reproducible: options.durableKv ?? false,
    session,
  });
  // A block for each sequence is set aside: a dead row has to write somewhere.
  return { decoder, sharedMemory, setAsideBlocks: maxNumSeqs };
}

function openOnDevice(
  options: EngineOptions,
  device: DeviceOptions,
  session: SessionOptions,
): OpenedDecoder {
  const decoder = openDevice(options, device, wantedRows(options), session);
  return { decoder, sharedMemory: null, setAsideBlocks: 0 };
}

/** Spare rows keep finished texts while every sequence runs. */
function wantedRows({ prefixCaching, maxNumSeqs }: EngineOptions): number {
  return prefixCaching ? 2 * maxNumSeqs : maxNumSeqs;
}

function draftSource(
  { draftModel, maxTokens }: SpeculativeOptions,
  { model, maxModelLen }: EngineOptions,
  device: DeviceOptions,
  session: SessionOptions,
): DraftSource {
  if (draftModel === null) return new NgramDrafts();
  const { vocabSize, maxPositionEmbeddings } = draftModel.manifest;
  if (vocabSize !== model.manifest.vocabSize) {
    throw new Error(
      `the draft model has ${vocabSize} tokens and the model ${model.manifest.vocabSize}: ` +
        'they must have the same tokenizer',
    );
  }
  // Drafts may reach past the longest sequence.
  const capacity = Math.min(maxModelLen + maxTokens, maxPositionEmbeddings);
  const options = {
    numRows: MAX_VERIFY_RUNS,
    maxModelLen: capacity,
    // The first draft for a text runs all of it.
    maxRunTokens: capacity,
    session,
  };
  const decoder =
    device.name === 'cpu'
      ? new OnnxDecoder(draftModel, options)
      : new DeviceDecoder(draftModel, { ...options, device });
  return new ModelDrafts({ decoder, vocabSize, numRows: MAX_VERIFY_RUNS, capacity });
}
