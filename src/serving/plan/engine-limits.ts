import { resolve } from 'node:path';
import type { PrefixTierLimits } from '../../engine/prefix-tier/open-tier.ts';
import type { EngineOptions } from '../../engine/process/protocol.ts';
import type { DecoderManifest } from '../../model/manifest.ts';
import { type ChosenDevice, gpuOf } from '../choices/device.ts';
import { freeMemory } from '../../ort/free-memory.ts';
import { usableCores } from '../../ort/usable-cores.ts';
import { UsageError } from '../../settings/usage-error.ts';
import type { Options } from '../../settings/options.ts';

export type EngineLimits = Omit<EngineOptions, 'model'>;

type LimitOptions = Options<
  | 'maxNumSeqs'
  | 'maxModelLen'
  | 'maxNumBatchedTokens'
  | 'kvCacheMemory'
  | 'prefixCaching'
  | 'targetItlMs'
  | 'threads'
  | 'durableKv'
  | 'kvCacheDtype'
> &
  Partial<Options<'prefixCacheMemory' | 'prefixCacheDir' | 'prefixCacheSize' | 'prefixCacheAge'>>;

/** The model's properties that limit flags. */
interface LimitedModel {
  readonly maxPositionEmbeddings: number;
  /** By layer, null where it attends to everything before it; left out where nothing depends on it. */
  readonly slidingWindows?: readonly (number | null)[];
}

/** Large enough for efficient matmuls, small enough that decoding streams keep their pace. */
const DEFAULT_BATCHED_TOKENS = 512;

/** Memory that a KV cache has beside it, where the flags do not say how large it is. */
export interface MemoryShare {
  /** Models that share the memory which is free. */
  readonly numModels: number;
  /** Memory of the model's weights. */
  readonly weightBytes: number;
}

const ALONE: MemoryShare = { numModels: 1, weightBytes: 0 };

/** Share of the memory that a KV cache shares at least: weights of models that make way do not count. */
const LEAST_SHARE = 1 / 4;

/** Memory of the KV cache on a GPU that does not report its memory. */
const DEFAULT_DEVICE_CACHE_BYTES = 2 ** 30;

/**
 * Checks the flags against each other, the model and the device (the CPU if left out), and fills in
 * defaults.
 * @throws UsageError naming the flag and both numbers
 */
export function engineLimits(
  options: LimitOptions,
  { maxPositionEmbeddings, slidingWindows = [] }: LimitedModel,
  chosen: ChosenDevice | null = null,
  share = ALONE,
): EngineLimits {
  const { maxNumSeqs, maxModelLen = maxPositionEmbeddings } = options;
  if (maxModelLen > maxPositionEmbeddings) {
    throw new UsageError(
      `--max-model-len ${maxModelLen} exceeds the ${maxPositionEmbeddings} positions of the model`,
    );
  }
  const { maxNumBatchedTokens = Math.max(DEFAULT_BATCHED_TOKENS, maxNumSeqs) } = options;
  if (options.durableKv && process.platform !== 'linux') {
    throw new UsageError(`--durable-kv needs Linux; this is ${process.platform}`);
  }
  const gpu = gpuOf(chosen);
  const window = Math.min(...slidingWindows.map((tokens) => tokens ?? Infinity));
  if (gpu?.device.graphCapture && window < maxModelLen) {
    throw new UsageError(
      `--graph-capture would leave out this model's sliding windows, as ONNX Runtime's recorded runs ` +
        `do: leave it out, or give --max-model-len ${window}, up to which they have no effect`,
    );
  }
  if (options.kvCacheDtype !== 'auto' && gpu) {
    throw new UsageError(`--kv-cache-dtype ${options.kvCacheDtype} needs --device cpu`);
  }
  if (options.durableKv && gpu) {
    throw new UsageError(
      `--durable-kv needs --device cpu: the memory of ${gpu.device.name} is lost with the engine`,
    );
  }
  const prefixTier = prefixTierLimits(options);
  if (prefixTier && gpu) {
    throw new UsageError(
      `--prefix-cache-dir and --prefix-cache-memory need --device cpu, not ${gpu.device.name}`,
    );
  }
  if (prefixTier && !options.prefixCaching) {
    throw new UsageError(
      '--prefix-cache-dir and --prefix-cache-memory need --prefix-caching: leave out --no-prefix-caching',
    );
  }
  if (maxNumBatchedTokens < maxNumSeqs) {
    throw new UsageError(
      `--max-num-batched-tokens ${maxNumBatchedTokens} is below --max-num-seqs ${maxNumSeqs}: ` +
        'every running sequence computes a token per iteration',
    );
  }
  return {
    maxNumSeqs,
    maxModelLen,
    maxNumBatchedTokens,
    ...(gpu && { device: gpu.device }),
    kvCacheMemory: options.kvCacheMemory ?? defaultCacheMemory(gpu, share),
    prefixCaching: options.prefixCaching,
    targetItlMs: options.targetItlMs ?? null,
    threads: options.threads,
    durableKv: options.durableKv,
    prefixTier,
  };
}

/** Where prefixes go that leave the KV cache; null if they are forgotten. */
function prefixTierLimits({
  prefixCacheMemory: memoryBytes = 0,
  prefixCacheDir,
  prefixCacheSize: maxBytes = Infinity,
  prefixCacheAge: maxAgeMs = Infinity,
}: LimitOptions): PrefixTierLimits | null {
  if (prefixCacheDir === undefined) return memoryBytes === 0 ? null : { memoryBytes, folder: null };
  return { memoryBytes, folder: { path: resolve(prefixCacheDir), maxBytes, maxAgeMs } };
}

/**
 * Checks what is known of a model only once its graphs are made.
 * @throws UsageError when they do not reach the longest sequence
 */
export function requireReach(
  { maxModelLen }: EngineLimits,
  { maxPositionEmbeddings }: DecoderManifest,
): void {
  if (maxModelLen <= maxPositionEmbeddings) return;
  throw new UsageError(
    `the graph's rotary tables end before ${maxModelLen} positions: give --max-model-len ` +
      `${maxPositionEmbeddings} or less`,
  );
}

/** Half of what the weights leave. */
function defaultCacheMemory(
  device: ChosenDevice | null,
  { numModels, weightBytes }: MemoryShare,
): number {
  const memory = device === null ? freeMemory() : device.memoryBytes;
  if (memory === null) return Math.floor(DEFAULT_DEVICE_CACHE_BYTES / numModels);
  const left = Math.max(memory - weightBytes, memory * LEAST_SHARE);
  return Math.floor(left / 2 / numModels);
}

/** Threads of each engine process of a model. */
export function threadsOfEach(
  { threads }: Pick<EngineLimits, 'threads'>,
  instances: number,
): number {
  return Math.max(1, Math.floor((threads || usableCores()) / instances));
}
