import { readFileSync } from 'node:fs';
import { freemem } from 'node:os';
import type { EngineOptions } from '../engine/messages.ts';
import type { DecoderConfig } from '../model/config.ts';
import { UsageError } from './errors.ts';
import type { Options } from './options.ts';

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
>;

/** Large enough for efficient matrix products, small enough that decoding streams keep flowing. */
const DEFAULT_BATCHED_TOKENS = 512;

/**
 * Fits the flags to each other and to the model.
 * @throws UsageError naming the flag and both numbers
 */
export function engineLimits(
  options: LimitOptions,
  { maxPositionEmbeddings }: DecoderConfig,
): EngineLimits {
  const { maxNumSeqs, maxModelLen = maxPositionEmbeddings } = options;
  if (maxModelLen > maxPositionEmbeddings) {
    throw new UsageError(
      `--max-model-len ${maxModelLen} is past what the model reaches: ${maxPositionEmbeddings} positions`,
    );
  }
  const { maxNumBatchedTokens = Math.max(DEFAULT_BATCHED_TOKENS, maxNumSeqs) } = options;
  if (options.durableKv === true && process.platform !== 'linux') {
    throw new UsageError(`--durable-kv needs Linux; this is ${process.platform}`);
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
    kvCacheMemory: options.kvCacheMemory ?? Math.floor(freeMemory() / 2),
    prefixCaching: options.prefixCaching,
    targetItlMs: options.targetItlMs ?? null,
    threads: options.threads,
    batching: 'continuous',
    durableKv: options.durableKv ?? false,
  };
}

/** Bytes that this process may still take, by the machine or by its container's limit. */
function freeMemory(): number {
  // Zero or absurdly large without a limit.
  const limit = process.constrainedMemory();
  const left = limit > 0 ? limit - process.memoryUsage.rss() : Infinity;
  return Math.max(0, Math.min(left, availableMemory()));
}

/** Memory that can be had without swapping, file caches included. */
function availableMemory(): number {
  if (process.platform !== 'linux') return freemem();
  const match = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8'));
  return match ? Number(match[1]) * 1024 : freemem();
}
