import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import type { ChosenDevice } from '../../../src/serving/choices/device.ts';
import { engineLimits } from '../../../src/serving/plan/engine-limits.ts';
import { CPU_DEVICE } from '../../../src/engine/gpu/device-options.ts';
import { parseDecoderConfig } from '../../../src/model/huggingface/config.ts';
import { PRESETS } from '../../../src/model/huggingface/presets.ts';

const options = {
  maxNumSeqs: 4,
  maxModelLen: undefined,
  maxNumBatchedTokens: undefined,
  kvCacheMemory: 2 ** 24,
  prefixCaching: true,
  targetItlMs: undefined,
  threads: 0,
  durableKv: false,
  kvCacheDtype: 'auto',
} as const;
const llama = parseDecoderConfig(PRESETS.tiny, 'tiny');
const gemma = parseDecoderConfig(
  { ...PRESETS.tiny, model_type: 'gemma3_text', sliding_window: 32, sliding_window_pattern: 2 },
  'tiny Gemma',
);

function webgpu(graphCapture: boolean): ChosenDevice {
  return {
    device: { ...CPU_DEVICE, name: 'webgpu', graphCapture },
    activationDtypes: ['float32'],
    hasPagedAttention: false,
    adapter: null,
    memoryBytes: null,
    reason: null,
  };
}

test('--graph-capture is refused where sliding windows would count', () => {
  const advice = /leave it out, or give --max-model-len 32,/;
  expect(() => engineLimits(options, gemma, webgpu(true))).toThrow(advice);
  expect(() => engineLimits({ ...options, maxModelLen: 33 }, gemma, webgpu(true))).toThrow(advice);
  const short = engineLimits({ ...options, maxModelLen: 32 }, gemma, webgpu(true));
  expect(short.maxModelLen).toBe(32);
  expect(() => engineLimits(options, llama, webgpu(true))).not.toThrow();
  expect(() => engineLimits(options, gemma, webgpu(false))).not.toThrow();
});

test('the KV cache has half of what the weights leave, and shares it', () => {
  const GB = 1e9;
  const gpu = { ...webgpu(false), memoryBytes: 80 * GB };
  const cacheOf = (weights: number, numModels = 1) =>
    engineLimits({ ...options, kvCacheMemory: undefined }, llama, gpu, {
      numModels,
      weightBytes: weights * GB,
    }).kvCacheMemory;
  expect(cacheOf(0)).toBe(40 * GB);
  expect(cacheOf(16)).toBe(32 * GB);
  expect(cacheOf(50)).toBe(15 * GB);
  expect(cacheOf(16, 2)).toBe(16 * GB);
  // More than all: those of other models make way.
  expect(cacheOf(100)).toBe(10 * GB);
  expect(engineLimits(options, llama, gpu).kvCacheMemory).toBe(options.kvCacheMemory);
});

test('prefixes are kept beyond the KV cache on the CPU alone, and where they are cached at all', () => {
  expect(engineLimits(options, llama).prefixTier).toBeNull();
  const given = { ...options, prefixCacheMemory: 5, prefixCacheSize: 7, prefixCacheAge: 9 };
  expect(engineLimits(given, llama).prefixTier).toEqual({ memoryBytes: 5, folder: null });
  const both = { ...given, prefixCacheDir: '/prefixes' };
  expect(engineLimits(both, llama).prefixTier).toEqual({
    memoryBytes: 5,
    folder: { path: resolve('/prefixes'), maxBytes: 7, maxAgeMs: 9 },
  });
  expect(() => engineLimits(both, llama, webgpu(false))).toThrow(
    '--prefix-cache-dir and --prefix-cache-memory need --device cpu, not webgpu',
  );
  expect(() => engineLimits({ ...given, prefixCaching: false }, llama)).toThrow(
    'leave out --no-prefix-caching',
  );
});
