/** From a definition to a model without state: a text encoder, or any ONNX graph. */
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Logger } from 'pino';
import type { BatcherOptions } from '../../front/batching/batcher-options.ts';
import { CachedEncoder } from '../../front/response-cache/cached-encoder.ts';
import { ImagePool } from '../../front/images/image-pool.ts';
import { TensorModel } from '../../front/tensors/tensor-model.ts';
import { TextModel } from '../../front/embedding/text-model.ts';
import { fromTritonConfig } from '../../front/tensors/triton-config.ts';
import type { TensorCache } from '../../front/response-cache/tensor-cache.ts';
import type { EmbeddingCache } from '../../front/response-cache/embedding-cache.ts';
import type { ModelDefinition } from '../../front/registry/model-definition.ts';
import type { ModelLoad } from '../../front/registry/model-entry.ts';
import type { ModelLoader } from '../../front/registry/residency.ts';
import { containsAny } from '../../files/contains-any.ts';
import { LIMITS } from '../../limits.ts';
import { defaultCacheDirectory } from '../../model/cache/cache-directory.ts';
import { inspectEncoderFolder, isEncoderFolder } from '../../model/encoder/encoder-folder.ts';
import type { EncoderPrecision } from '../../model/encoder/encoder-nodes.ts';
import { filesOf } from '../../model/export/export-folder.ts';
import { isRemote } from '../../model/remotes/remotes.ts';
import type { EncoderRuntime, TensorRuntime } from '../../server/runtimes.ts';
import { encoderBuildId, graphBuildId } from './build-id.ts';
import { bothTowers, type StatelessModel } from './both-towers.ts';
import { ImageLoader } from './image-loader.ts';
import { openImageTower } from './open-image-tower.ts';
import { type OptionName, type Options, readFlags } from '../../settings/options.ts';
import { UsageError } from '../../settings/usage-error.ts';

/** Flags that such a model may have of its own. */
const OWN_FLAGS = [
  'precision',
  'threads',
  'tokenizerPoolSize',
  'stepTimeout',
  'maxQueue',
  'maxBatchSize',
  'maxBatchTokens',
  'maxQueueDelayMs',
  'preferredBatchSizes',
  'preserveOrdering',
] as const satisfies readonly OptionName[];

type EncoderOptions = Options<(typeof OWN_FLAGS)[number]>;

/** Graph of a model that is neither a text encoder nor a model that generates text. */
const GRAPH = 'model.onnx';

/** The graph of a folder with tensors in and out. */
export function graphFileOf(source: string): string {
  return join(resolve(source), GRAPH);
}

/** The graph and its weights. */
async function graphFiles(source: string): Promise<readonly string[]> {
  const files = (await readdir(source)).map((name) => join(resolve(source), name));
  return filesOf(graphFileOf(source), files);
}

/** ONNX's operators that draw numbers. */
const RANDOM_OPERATORS = ['RandomNormal', 'RandomUniform', 'Bernoulli', 'Multinomial'];

export interface EncoderLoaderOptions {
  /** Options of the command line. */
  readonly options: EncoderOptions;
  readonly logger: Logger;
  readonly isShared: () => boolean;
  /** Reads images of all models; one of its own if left out. */
  readonly images?: ImagePool;
  /** Vectors that were computed before; null keeps none. */
  readonly embeddings?: EmbeddingCache | null;
  /** Answers of other models that were computed before; null keeps none. */
  readonly tensors?: TensorCache | null;
}

/** Kind of the model in a folder, judged by its small files. */
export async function kindOf(source: string): Promise<'text' | 'encoder' | 'tensors'> {
  if (isRemote(source)) return 'text';
  const path = resolve(source);
  if (await isEncoderFolder(path)) return 'encoder';
  const names = await readdir(path).catch((): string[] => []);
  const isText = ['config.json', 'genai_config.json'].some((name) => names.includes(name));
  return names.includes(GRAPH) && !isText ? 'tensors' : 'text';
}

export class EncoderLoader implements ModelLoader<EncoderRuntime | TensorRuntime> {
  readonly #server: EncoderLoaderOptions;
  readonly #pool: ImagePool;
  readonly #images: ImageLoader;

  constructor(options: EncoderLoaderOptions) {
    this.#server = options;
    this.#pool = options.images ?? new ImagePool();
    this.#images = new ImageLoader(this.#pool);
  }

  /** The size of the weights. @throws ModelError */
  async estimate({ source, instances }: ModelDefinition): Promise<number> {
    if ((await kindOf(source)) === 'encoder') {
      return (await inspectEncoderFolder(source)).weightBytes * instances;
    }
    const sizes = await Promise.all(
      (await graphFiles(source)).map(async (file) => (await stat(file)).size),
    );
    return sizes.reduce((sum, size) => sum + size, 0) * instances;
  }

  /** @throws UsageError, ModelError, TokenizerError, EngineError */
  async load(
    definition: ModelDefinition,
    onState: (state: ModelLoad['state']) => void,
  ): Promise<EncoderRuntime | TensorRuntime> {
    onState('loading');
    const { source, flags } = definition;
    const options = { ...this.#server.options, ...readFlags(flags, OWN_FLAGS) };
    return (await kindOf(source)) === 'encoder'
      ? this.#loadEncoder(definition, options)
      : this.#loadGraph(definition, options);
  }

  async #loadEncoder(
    { name, source, instances, triton = {} }: ModelDefinition,
    options: EncoderOptions,
  ): Promise<EncoderRuntime> {
    const precision = precisionOf(options);
    const base = this.#batching(options, instances, options.maxBatchTokens);
    const { batching } = fromTritonConfig(triton, base);
    const common = {
      folder: source,
      precision,
      cacheDirectory: defaultCacheDirectory(),
      threads: options.threads,
      ...this.#watch(name, options),
    };
    const { embeddings, logger } = this.#server;
    const { tokenizerPoolSize: tokenizerThreads } = options;
    const encoder = await TextModel.open({ ...common, tokenizerThreads, batching });
    const { warning } = encoder;
    if (warning !== null) logger.warn({ model: name }, warning);
    const seeing = { ...common, batching: { ...batching, maxBatchTokens: null } };
    const images = await openImageTower({ ...seeing, name, pool: this.#pool, logger });
    const both = images === null ? encoder : bothTowers(encoder, images.model);
    const runtime = { kind: 'encoder', ...(await started(name, both)) } as const;
    const tower = images?.tower ?? null;
    if (!embeddings) return { ...runtime, encoder, images: tower };
    const buildId = await encoderBuildId(source, precision);
    return {
      ...runtime,
      encoder: new CachedEncoder(encoder, embeddings, buildId),
      images: tower && {
        ...tower,
        embed: embeddings.over(tower.embed, `${buildId} ${images?.facts}`),
      },
    };
  }

  async #loadGraph(
    { name, source, instances, triton = {}, image = null }: ModelDefinition,
    options: EncoderOptions,
  ): Promise<TensorRuntime> {
    const base = this.#batching(options, instances, null);
    const { batching, isBatched, priorities } = fromTritonConfig(triton, base);
    const tensors = new TensorModel({
      source: { type: 'graph', path: graphFileOf(source), isBatched },
      threads: options.threads,
      batching,
      priorities,
      ...this.#watch(name, options),
    });
    const runtime = await started(name, tensors);
    try {
      const served = await this.#cached(tensors, source, isBatched);
      const classifier = image && (await this.#images.open(served, image));
      return { kind: 'tensors', tensors: served, classifier, ...runtime };
    } catch (error) {
      await tensors.stop();
      throw error;
    }
  }

  /** A model whose answers are kept, if any are and it gives equal inputs equal outputs. */
  async #cached(
    model: TensorModel,
    source: string,
    isBatched: boolean | null,
  ): Promise<TensorRuntime['tensors']> {
    const { tensors: cache } = this.#server;
    if (!cache || (await containsAny(graphFileOf(source), RANDOM_OPERATORS))) return model;
    return cache.over(model, await graphBuildId(await graphFiles(source), isBatched));
  }

  #batching(
    options: EncoderOptions,
    instances: number,
    maxBatchTokens: number | null,
  ): BatcherOptions {
    return {
      maxBatchSize: options.maxBatchSize,
      preferredBatchSizes: options.preferredBatchSizes ?? [],
      maxQueueDelayMs: options.maxQueueDelayMs,
      maxBatchBytes: LIMITS.batchBytes,
      maxBatchTokens,
      instances,
      preserveOrdering: options.preserveOrdering,
      queue: {
        maxQueue: LIMITS.batchQueue,
        maxQueueBytes: LIMITS.batchQueueBytes,
        defaultTimeoutMs: null,
        timeoutAction: 'reject',
        allowTimeoutOverride: true,
      },
      isShared: this.#server.isShared,
    };
  }

  #watch(model: string, { stepTimeout }: EncoderOptions) {
    const { logger } = this.#server;
    return {
      runTimeoutMs: stepTimeout * 1000,
      onCrash: (description: string) =>
        logger.error({ model, description }, 'the encoder process died; starting another'),
    };
  }
}

/** @throws UsageError */
function precisionOf({ precision }: EncoderOptions): EncoderPrecision {
  if (precision === 'auto') return 'fp32';
  if (precision === 'fp32' || precision === 'int8') return precision;
  throw new UsageError(`--precision ${precision}: encoders take auto, fp32 and int8`);
}

/** Starts a model; returns the parts that every runtime has. */
async function started(id: string, model: StatelessModel) {
  try {
    await model.start();
  } catch (error) {
    await model.stop();
    throw error;
  }
  return {
    model: { id, created: Math.floor(Date.now() / 1000) },
    engine: {
      get state() {
        return model.state;
      },
      // A batch that hangs is ended by its own watchdog.
      silentMs: 0,
    },
    admission: {
      close: () => model.close(),
      onIdle: () => untilIdle(model),
    },
    get memoryBytes() {
      return model.memoryBytes;
    },
    pids: () => model.pids,
    stop: () => model.stop(),
  };
}

const IDLE_POLL_MS = 20;

async function untilIdle(model: StatelessModel): Promise<void> {
  while (isBusy(model)) {
    await new Promise((go) => setTimeout(go, IDLE_POLL_MS));
  }
}

/** Its statistics are those of the moment in which they are asked for. */
function isBusy({ stats }: StatelessModel): boolean {
  return stats.numWaiting + stats.numRunning > 0;
}
