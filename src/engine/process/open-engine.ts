import { ortVersion } from '../../ort/environment.ts';
import { BlockLog } from '../kv-cache/block-log.ts';
import { BLOCK_SIZE } from '../kv-cache/prefix-index.ts';
import type { SessionOptions } from '../../ort/session-options.ts';
import { GrammarMatchers } from '../constraints/grammar-matchers.ts';
import { CpuDecoder } from '../cpu/cpu-decoder.ts';
import { usableCores } from '../../ort/usable-cores.ts';
import { Engine } from '../engine.ts';
import { CPU_DEVICE } from '../gpu/device-options.ts';
import { DeviceDecoder } from '../gpu/slots/device-decoder.ts';
import type { KvCache } from '../kv-cache/kv-cache.ts';
import type { PrefixTier } from '../prefix-tier/prefix-tier.ts';
import type { PredictionModule } from '../prediction.ts';
import { Sampler } from '../sampling/sampler.ts';
import { ThoughtBudgets } from '../sampling/thought-budget.ts';
import type { CostModel } from '../costs/cost-model.ts';
import { Scheduler } from '../scheduling/scheduler.ts';
import type { DraftSource } from '../speculation/draft-source.ts';
import { GrammarDrafts } from '../speculation/grammar-drafts.ts';
import { ModelDrafts } from '../speculation/model-drafts.ts';
import { LedDecoder } from '../speculation/led-decoder.ts';
import { PredictionDrafts } from '../speculation/prediction-drafts.ts';
import { NgramDrafts } from '../speculation/ngram-drafts.ts';
import { Speculator } from '../speculation/speculator.ts';
import { MAX_DRAFTS } from '../drafter.ts';
import type { StateCache } from '../states/state-cache.ts';
import type { Decoder } from '../step.ts';
import { openPaged } from './open-paged.ts';
import { openSlots } from './open-slots.ts';
import { refuseOptions } from './refuse-options.ts';
import type { EngineInfo, EngineOptions, SpeculativeOptions } from './protocol.ts';

/** An engine and the parts of it that own something. */
export interface OpenedEngine {
  readonly engine: Engine;
  readonly kvCache: KvCache;
  /** To be released when the engine is done with. */
  readonly decoder: Decoder;
  /** To be released when the engine is done with. */
  readonly speculator: Speculator | null;
  readonly info: EngineInfo;
  /** Which blocks of the cache can be found; null if nobody asked. */
  readonly blocks: BlockLog | null;
  /** Prefixes kept beyond the KV cache: to be asked before a request is added. Null if none are. */
  readonly tier: PrefixTier | null;
  /** Work for when there is no other; see SharedWeights.settle. Null if there is none. */
  readonly settle: ((ms: number) => boolean) | null;
}

/**
 * Loads a model and puts an engine together around it.
 * @param inheritedMemory descriptor of the durable KV cache of an earlier engine, same options
 * @throws OrtError, on a device DeviceError, when the graph can't be loaded; Error when the cache's
 *   memory is too small, or for options that the model's states do not go with
 */
export function openEngine(
  options: EngineOptions,
  inheritedMemory: number | null = null,
): OpenedEngine {
  const { model, device = CPU_DEVICE, attention, grammarVocabulary: vocabulary } = options;
  refuseOptions(options);
  const threads = options.threads || usableCores();
  const session = { intraOpThreads: threads };
  const blocks = options.blockEvents === true ? new BlockLog() : null;
  const opened =
    attention === 'paged'
      ? {
          ...openPaged(options, session, blocks),
          states: null,
          hiddenSize: null,
          embeddingWidth: null,
          durable: null,
          sharedMemoryFd: null,
          tier: null,
          prediction: null,
          settle: null,
        }
      : openSlots(options, session, inheritedMemory, blocks);
  const { decoder, kvCache, costs, states, kvCacheBytes, kvCacheTokens, durable } = opened;
  const { hiddenSize, embeddingWidth, sharedMemoryFd, tier, prediction, settle } = opened;
  const maxDraftTokens = options.speculative?.maxTokens ?? 0;
  const grammars = vocabulary ? new GrammarMatchers({ vocabulary, maxDraftTokens }) : null;
  const drafting = { kvCache, costs, states, grammars, decoder, prediction };
  const speculator = openSpeculator(options, session, drafting);
  const scheduler = new Scheduler(
    kvCache,
    costs,
    { ...options, maxAdapters: options.adapters?.maxActive ?? Infinity },
    speculator,
  );
  const thoughts = vocabulary ? new ThoughtBudgets(vocabulary.tokens) : null;
  const sampler = new Sampler(model.manifest.vocabSize, grammars, thoughts);
  const own = { scheduler, kvCache, sampler, costs, grammars, durable, speculator };
  const parts = { ...own, decoder: ledDecoder(decoder, speculator, states) };
  return {
    engine: new Engine({ ...parts, embeddingWidth }),
    kvCache,
    decoder,
    speculator,
    blocks,
    tier,
    settle,
    info: {
      runtimeVersion: ortVersion(),
      device: device.name,
      numSlots: kvCache.numSlots,
      maxNumSeqs: Math.min(options.maxNumSeqs, kvCache.numSlots),
      kvCacheBytes,
      kvCacheTokens,
      kvBlockTokens: BLOCK_SIZE,
      threads,
      hiddenSize,
      embeddingWidth,
      sharedMemoryFd,
    },
  };
}

interface SpeculatorParts {
  readonly kvCache: KvCache;
  readonly costs: CostModel;
  readonly states: StateCache | null;
  readonly grammars: GrammarMatchers | null;
  readonly decoder: Decoder;
  readonly prediction: PredictionModule | null;
}

function openSpeculator(
  options: EngineOptions,
  session: SessionOptions,
  { kvCache, costs, states, grammars, decoder, prediction }: SpeculatorParts,
): Speculator | null {
  const { speculative = null, maxNumBatchedTokens } = options;
  if (speculative === null) return null;
  const { maxTokens, minGain } = speculative;
  const source = speculative.predicts
    ? predictionDrafts(options, { kvCache, decoder, prediction })
    : draftSource(speculative, options, session);
  const ngrams = source instanceof NgramDrafts ? source : null;
  const constrainedSource = grammars && new GrammarDrafts(grammars, ngrams);
  return new Speculator({
    source,
    constrainedSource,
    kvCache,
    costs,
    states,
    maxTokens,
    maxNumBatchedTokens,
    ...(minGain === undefined ? {} : { minGain }),
  });
}

/** A state can't be taken back by a token: then a module lacks one position. */
function ledDecoder(
  decoder: Decoder,
  speculator: Speculator | null,
  states: StateCache | null,
): Decoder {
  const source = speculator?.source;
  return source instanceof PredictionDrafts && states === null
    ? new LedDecoder(decoder, (segment) => source.lacksBefore(segment))
    : decoder;
}

function predictionDrafts(
  { model }: EngineOptions,
  { kvCache, decoder, prediction }: Pick<SpeculatorParts, 'kvCache' | 'decoder' | 'prediction'>,
): DraftSource {
  if (prediction === null) throw new Error('the model was built without multi-token prediction');
  const settle = () => {
    const cacheOperations = kvCache.drainOperations();
    if (cacheOperations.length > 0) decoder.execute({ cacheOperations, segments: [] });
  };
  return new PredictionDrafts({ module: prediction, vocabSize: model.manifest.vocabSize, settle });
}

function draftSource(
  { draftModel, maxTokens }: SpeculativeOptions,
  { model, maxModelLen, device = CPU_DEVICE, sharesWeights = false }: EngineOptions,
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
    numSlots: MAX_DRAFTS,
    maxModelLen: capacity,
    // The first draft for a text runs all of it.
    maxRunTokens: capacity,
    sharesWeights,
    session,
  };
  const decoder =
    device.name === 'cpu'
      ? new CpuDecoder(draftModel, options)
      : new DeviceDecoder(draftModel, { ...options, device });
  return new ModelDrafts({ decoder, vocabSize, numSlots: MAX_DRAFTS, capacity });
}
