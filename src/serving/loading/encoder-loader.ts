/** From a definition to a model without state: a text encoder, or any ONNX graph. */
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Logger } from 'pino';
import type { BatcherOptions } from '../../front/batching/batcher-options.ts';
import { CachedEncoder } from '../../front/response-cache/cached-encoder.ts';
import { TensorModel } from '../../front/tensors/tensor-model.ts';
import { TextModel } from '../../front/embedding/text-model.ts';
import { fromTritonConfig } from '../../front/tensors/triton-config.ts';
import type { EmbeddingCache } from '../../front/response-cache/embedding-cache.ts';
import type { ModelDefinition } from '../../front/registry/model-definition.ts';
import type { ModelLoad } from '../../front/registry/model-entry.ts';
import type { ModelLoader } from '../../front/registry/residency.ts';
import { LIMITS } from '../../limits.ts';
import { defaultCacheDirectory } from '../../model/cache/cache-directory.ts';
import { inspectEncoderFolder, isEncoderFolder } from '../../model/encoder/encoder-folder.ts';
import { filesOf } from '../../model/export/export-folder.ts';
import { isHubReference } from '../../model/hub/hub-repository.ts';
import type { EncoderRuntime, TensorRuntime } from '../../server/runtimes.ts';
import { encoderBuildId } from './build-id.ts';
import { ImageLoader } from './image-loader.ts';
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

export interface EncoderLoaderOptions {
  /** Options of the command line. */
  readonly options: EncoderOptions;
  readonly logger: Logger;
  readonly isShared: () => boolean;
  /** Vectors that were computed before; null keeps none. */
  readonly embeddings?: EmbeddingCache | null;
}

/** Kind of the model in a folder, judged by its small files. */
export async function kindOf(source: string): Promise<'text' | 'encoder' | 'tensors'> {
  if (isHubReference(source)) return 'text';
  const path = resolve(source);
  if (await isEncoderFolder(path)) return 'encoder';
  const names = await readdir(path).catch((): string[] => []);
  const isText = ['config.json', 'genai_config.json'].some((name) => names.includes(name));
  return names.includes(GRAPH) && !isText ? 'tensors' : 'text';
}

export class EncoderLoader implements ModelLoader<EncoderRuntime | TensorRuntime> {
  readonly #server: EncoderLoaderOptions;
  readonly #images = new ImageLoader();

  constructor(options: EncoderLoaderOptions) {
    this.#server = options;
  }

  /** The size of the weights. @throws ModelError */
  async estimate({ source, instances }: ModelDefinition): Promise<number> {
    if ((await kindOf(source)) === 'encoder') {
      return (await inspectEncoderFolder(source)).weightBytes * instances;
    }
    const graph = graphFileOf(source);
    const files = (await readdir(source)).map((name) => join(resolve(source), name));
    const sizes = await Promise.all(
      filesOf(graph, files).map(async (file) => (await stat(file)).size),
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
    const { precision } = options;
    if (precision !== 'auto' && precision !== 'fp32' && precision !== 'int8') {
      throw new UsageError(`--precision ${precision}: encoders take auto, fp32 and int8`);
    }
    const base = this.#batching(options, instances, options.maxBatchTokens);
    const encoder = await TextModel.open({
      folder: source,
      precision: precision === 'auto' ? 'fp32' : precision,
      cacheDirectory: defaultCacheDirectory(),
      threads: options.threads,
      tokenizerThreads: options.tokenizerPoolSize,
      batching: fromTritonConfig(triton, base).batching,
      ...this.#watch(name, options),
    });
    const { warning } = encoder;
    if (warning !== null) this.#server.logger.warn({ model: name }, warning);
    const runtime = await started(name, encoder);
    const { embeddings } = this.#server;
    if (!embeddings) return { kind: 'encoder', encoder, ...runtime };
    const buildId = await encoderBuildId(source, precision === 'auto' ? 'fp32' : precision);
    return {
      kind: 'encoder',
      encoder: new CachedEncoder(encoder, embeddings, buildId),
      ...runtime,
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
    if (image === null) return { kind: 'tensors', tensors, classifier: null, ...runtime };
    try {
      const classifier = await this.#images.open(tensors, image);
      return { kind: 'tensors', tensors, classifier, ...runtime };
    } catch (error) {
      await tensors.stop();
      throw error;
    }
  }

  /** Ends what its models share. */
  close(): void {
    this.#images.close();
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

/** Starts a model; returns the parts that every runtime has. */
async function started(id: string, model: TextModel | TensorModel) {
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

async function untilIdle(model: TextModel | TensorModel): Promise<void> {
  while (isBusy(model)) {
    await new Promise((go) => setTimeout(go, IDLE_POLL_MS));
  }
}

/** Its statistics are those of the moment in which they are asked for. */
function isBusy({ stats }: TextModel | TensorModel): boolean {
  return stats.numWaiting + stats.numRunning > 0;
}
