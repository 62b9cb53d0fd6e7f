/** From a model's definition to a running engine with all that the front needs around it. */
import { chatFormatOf } from '../../front/chat/chat-format.ts';
import { startEngineEarly } from '../../front/engine-process/engine-process.ts';
import { observeAll } from '../../front/generation/observe-all.ts';
import { TextGenerator } from '../../front/generation/text-generator.ts';
import { warmUp } from '../../front/generation/warm-up.ts';
import { warmUpPrompts } from '../../front/prompts/warm-up-prompts.ts';
import { GrammarChecker } from '../../front/grammars/grammar-checker.ts';
import { grammarVocabulary } from '../../front/grammars/grammar-vocabulary.ts';
import { TokenSearch } from '../../front/grammars/token-search.ts';
import { PromptEncoder } from '../../front/prompts/prompt-encoder.ts';
import { PromptPool } from '../../front/prompts/prompt-pool.ts';
import { Admission, requestsInEngine } from '../../front/queue/admission.ts';
import type { ModelDefinition } from '../../front/registry/model-definition.ts';
import type { ModelLoad } from '../../front/registry/model-entry.ts';
import type { ModelLoader } from '../../front/registry/residency.ts';
import { thoughtMarks } from '../../front/chat/thought-marks.ts';
import { openDecoderEncoder } from './open-decoder-encoder.ts';
import { loadTextModel } from '../../front/prompts/load-text-model.ts';
import { imageMark } from '../../model/vision/placeholder.ts';
import { roomForRank } from '../../model/graph/live-adapter-shape.ts';
import type { DecoderManifest } from '../../model/manifest.ts';
import type { TextRuntime } from '../../server/runtimes.ts';
import { textBuildIds } from './build-id.ts';
import { buildWithProgress } from './build-model.ts';
import { requireReach, threadsOfEach } from '../plan/engine-limits.ts';
import { adapterLimits, NO_LORA, openAdapters, type ServedLora } from '../plan/lora.ts';
import { allWeightBytes, weightBytes } from '../plan/memory.ts';
import { type ModelPlan, planModel } from '../plan/model-plan.ts';
import { newEngine } from './new-engine.ts';
import { openSlots } from './open-slots.ts';
import { openPrefetching } from './open-prefetching.ts';
import { openSpeech } from './open-speech.ts';
import { openVision, towerOf, visionOf } from './open-vision.ts';
import { pinPrompts } from './pin-prompts.ts';
import { samplingOf } from '../plan/sampling.ts';
import { speculation, wantsPrediction } from './speculation.ts';
import type { TextModelLoaderOptions } from './text-model-loader-options.ts';

/** A model that serves, and how it came to run as it does. */
export interface LoadedText extends TextRuntime {
  readonly how: Pick<
    ModelPlan,
    'limits' | 'attention' | 'choice' | 'kernels' | 'chosenDevice' | 'tuning'
  > & {
    readonly manifest: DecoderManifest;
  };
}

export class TextModelLoader implements ModelLoader<LoadedText> {
  readonly #server: TextModelLoaderOptions;
  readonly #plans = new WeakMap<ModelDefinition, Promise<ModelPlan>>();

  constructor(options: TextModelLoaderOptions) {
    this.#server = options;
  }

  /** Downloads the model if it has to. @throws UsageError, ModelError */
  async estimate(definition: ModelDefinition): Promise<number> {
    const plan = await this.#plan(definition);
    return allWeightBytes(plan) + plan.limits.kvCacheMemory;
  }

  /** @throws UsageError, ModelError, TokenizerError, EngineError */
  async load(
    definition: ModelDefinition,
    onState: (state: ModelLoad['state']) => void,
  ): Promise<LoadedText> {
    const plan = await this.#plan(definition);
    const endUnused = startEngineEarly(threadsOfEach(plan.limits, definition.instances));
    try {
      return await this.#open(definition, plan, onState);
    } finally {
      endUnused();
    }
  }

  async #open(
    definition: ModelDefinition,
    plan: ModelPlan,
    onState: (state: ModelLoad['state']) => void,
  ): Promise<LoadedText> {
    const { name, instances } = definition;
    const { statistics, targets, classOf, metrics: hub, isShared, kvEvents, logger } = this.#server;
    const { priorityRange, sharePrefixCache } = this.#server.options;
    const { options, chosen, chosenDevice, limits, choice, kernels, attention, tuning } = plan;
    const formats = { ...choice, ...kernels };
    const { specialTokensInContent, maxQueue, maxQueueTokens } = options;
    const sees = this.#server.images === null ? null : await visionOf(name, plan, logger);
    const mark = sees === null ? undefined : imageMark(sees.config);
    const textSource = { ...chosen.text, specialTokensInContent, imageMark: mark };
    const textModel = await loadTextModel(textSource);
    for (const warning of [...plan.warnings, ...textModel.warnings])
      logger.warn({ model: name }, warning);
    onState('building');
    const withLora = plan.takesLora;
    const maxAdapterRank = withLora ? roomForRank(options.maxLoraRank) : undefined;
    const model = await buildWithProgress(
      chosen.source,
      {
        ...formats,
        maxModelLen: limits.maxModelLen,
        maxAdapterRank,
        calibrate: plan.calibrate,
        takesEmbeddings: sees !== null,
        predicts: wantsPrediction(options, formats, chosenDevice.device),
      },
      options.kvCacheDtype,
    );
    requireReach(limits, model.manifest);
    onState('loading');
    const { vocabSize } = chosen.decoder.config;
    const place = { shelf: this.#lora.shelf, base: name };
    const opened =
      withLora && chosen.decoder.kind === 'buildable'
        ? await openAdapters(options, place, chosen.decoder.config, model.manifest.kernels, logger)
        : null;
    const { tokenizer, chatTemplate, generationDefaults, bannedWords } = textModel;
    const vocabulary = await grammarVocabulary(tokenizer, vocabSize);
    const { stepTimeout } = options;
    const engine = newEngine({ model: name, instances, stepTimeout, logger, kvEvents });
    const seeing =
      sees &&
      (await openVision({
        name,
        part: sees,
        options,
        logger,
        isShared,
        pool: this.#server.images ?? null,
      }));
    const vision = seeing?.vision ?? null;
    const ears = await openSpeech(name, plan, { tokenizer, logger, isShared });
    // Its first thread starts while the engine does, or with the first prompt that is long.
    const minThreads = options.warmup === 'off' ? 0 : 1;
    const pool = new PromptPool(textSource, { minThreads, maxThreads: options.tokenizerPoolSize });
    const admission = new Admission({
      concurrency: requestsInEngine(limits.maxNumSeqs) * instances,
      maxQueue,
      isShared,
      ...(maxQueueTokens === undefined ? {} : { maxQueueTokens }),
    });
    const prompts = new PromptEncoder({ model: textModel, admission, pool, images: vision });
    const prefetchModel = { prompts, model: { id: name, maxModelLen: limits.maxModelLen } };
    const withNextTurns = options.prefetchNextTurn;
    const prefetching = openPrefetching(prefetchModel, { engine, admission, withNextTurns });
    try {
      await engine.start({
        model,
        ...limits,
        kvCacheMemory: Math.floor(limits.kvCacheMemory / instances),
        threads: threadsOfEach(limits, instances),
        sharesWeights: instances > 1,
        attention,
        blockEvents: this.#server.kvEvents !== null,
        speculative: await speculation(options, formats, chosenDevice.device, model.manifest),
        grammarVocabulary: vocabulary,
        adapters: withLora ? adapterLimits(options) : undefined,
      });
      await Promise.all([
        warmUp(engine, options.warmup, { ...limits, vocabSize }),
        options.warmup === 'off' ? null : warmUpPrompts(prompts),
      ]);
      await pinPrompts(
        this.#server.prefetch ?? [],
        prefetchModel,
        prefetching.parts.pinned,
        logger,
      );
    } catch (error) {
      prefetching.close();
      pool.close();
      await Promise.all([engine.stop(), seeing?.stop(), ears?.stop()]);
      throw error;
    }

    const metrics = hub.of(name, { engine, admission, vision });
    const search = new TokenSearch(vocabulary.tokens);
    const grammars = new GrammarChecker({ vocabulary, size: options.grammarPoolSize });
    const observe = observeAll(
      metrics.observe.bind(metrics),
      ({ record }) => record ?? null,
      targets.observe.bind(targets),
      () => statistics.observe(definition),
    );
    const chatFormat = chatFormatOf(chatTemplate?.text ?? '', options);
    const { reasoning } = chatFormat;
    const { reasoningBudget = null } = options;
    const generator = new TextGenerator({
      engine,
      tokenizer,
      admission,
      vision,
      hearing: ears?.hearing ?? null,
      eosTokenIds: tokenizer.eosTokenIds,
      // Requests of speech have their own rule, of the same tokens.
      bannedWords: ears ? [] : bannedWords,
      observe,
    });
    // Also what a request brought meanwhile, where this one replaces a model that serves.
    await opened?.restore();
    const encoders = [seeing, ears].flatMap((part) => part?.encoder ?? []);
    const { family, numParameters, precision } = model.manifest;
    const { format, quantization } = chosen;
    const ids = await textBuildIds({
      model,
      tower: sees && towerOf(sees, options),
      tokenizer,
      device: `${engine.info.device} ${chosenDevice.adapter ?? ''}`,
      runtimeVersion: engine.info.runtimeVersion,
      attention,
    });
    return {
      kind: 'text',
      generator,
      engine,
      admission,
      tokenizer,
      prompts,
      chatFormat: {
        ...chatFormat,
        thoughtMarks: reasoning && thoughtMarks(reasoning, vocabulary.tokens, tokenizer),
        reasoningBudget: reasoningBudget === -1 ? null : reasoningBudget,
      },
      grammars,
      encoder: await openDecoderEncoder({
        generator,
        prompts,
        tokenizer,
        folder: textSource.folder,
        onProblem: (problem) =>
          logger.warn({ model: name, problem }, 'the model makes no embeddings'),
        rules: { priorities: priorityRange, sharePrefixCache },
        classOf,
        parallel: limits.maxNumSeqs * instances,
        hiddenSize: engine.info.hiddenSize,
        maxModelLen: limits.maxModelLen,
      }),
      adapters: opened?.adapters ?? null,
      model: {
        id: name,
        created: Math.floor(Date.now() / 1000),
        maxModelLen: limits.maxModelLen,
        vocabSize,
        tokensWith: (text) => search.tokensWith(text),
        contextShift: options.contextShift ? { bosTokenId: tokenizer.bosTokenId } : null,
        samplingDefaults: samplingOf(generationDefaults, options),
        details: {
          family,
          numParameters,
          precision,
          format,
          quantization,
          template: chatTemplate?.text ?? '',
        },
      },
      ...prefetching.parts,
      ...ids,
      slots: openSlots(limits, engine.info.maxNumSeqs, ids.contentId),
      how: { limits, attention, choice, kernels, chosenDevice, tuning, manifest: model.manifest },
      takesImages: vision !== null,
      speech: ears?.writes(generator) ?? null,
      memoryBytes: encoders.reduce(
        (sum, { memoryBytes }) => sum + memoryBytes,
        weightBytes(plan, numParameters) + engine.info.kvCacheBytes,
      ),
      pids: () => [
        ...('pids' in engine ? engine.pids : [engine.pid]),
        ...encoders.flatMap(({ pids }) => pids),
      ],
      async stop() {
        admission.close();
        prefetching.close();
        pool.close();
        grammars.close();
        await Promise.all([engine.stop(), seeing?.stop(), ears?.stop()]);
      },
    };
  }

  get #lora(): ServedLora {
    return this.#server.lora ?? NO_LORA;
  }

  #plan(definition: ModelDefinition): Promise<ModelPlan> {
    const known = this.#plans.get(definition);
    if (known !== undefined) return known;
    const { options, numModels } = this.#server;
    const need = this.#lora.needOf(definition.name);
    const plan = planModel(definition, options, numModels, need);
    this.#plans.set(definition, plan);
    // The next try may find what this one missed.
    plan.catch(() => this.#plans.delete(definition));
    return plan;
  }
}
