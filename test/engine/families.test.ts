import { afterAll, describe, expect, it } from 'vitest';
import { OnnxDecoder } from '../../src/engine/decoder.ts';
import { calibrateKv } from '../../src/engine/kv-calibration.ts';
import { Sequence } from '../../src/engine/sequence.ts';
import { prepareModel } from '../../src/model/build.ts';
import { PRESETS } from '../../src/model/presets.ts';
import { engineRequest } from '../support/engine-requests.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const FAMILIES = [
  { model_type: 'mistral', sliding_window: 12 },
  { model_type: 'qwen3', head_dim: 32 },
  { model_type: 'phi3', sliding_window: 30 },
  { model_type: 'gemma3_text', head_dim: 32, sliding_window: 12, sliding_window_pattern: 2 },
];
const TEXT = Int32Array.from({ length: 60 }, (_, index) => (index * 37) % 500);
const NOTHING = { cacheOperations: [], decode: [], prefill: [], numBatchedTokens: 0 };

/** Logits after a text that is computed in two chunks and a decode run. */
async function logitsOf(
  changes: object,
  precision: 'fp32' | 'fp16' | 'int8' | 'int4',
  kvCacheDtype: 'float32' | 'int8' = 'float32',
): Promise<Float32Array> {
  const model = await prepareModel(
    { kind: 'random', config: { ...PRESETS.tiny, ...changes }, seed: 5 },
    {
      precision,
      cacheDirectory: cache.path,
      ...(kvCacheDtype === 'int8' && { calibrateKv }),
    },
  );
  const decoder = new OnnxDecoder(model, { numRows: 1, maxModelLen: 64 });
  const sequence = new Sequence(engineRequest({ id: 1, promptTokenIds: TEXT }));
  sequence.row = 0;
  for (const [start, end] of [
    [0, 20],
    [20, 59],
  ] as const) {
    decoder.execute({ ...NOTHING, prefill: [[{ sequence, start, length: end - start }]] });
  }
  const { rows } = decoder.execute({ ...NOTHING, decode: [{ sequence, position: 59 }] });
  const logits = rows[0]?.logits.slice() ?? new Float32Array();
  decoder.release();
  return logits;
}

function deviation(a: Float32Array, b: Float32Array): number {
  const largest = b.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
  return a.reduce((max, value, i) => Math.max(max, Math.abs(value - (b[i] ?? NaN))), 0) / largest;
}

describe.each(FAMILIES)('$model_type', (changes) => {
  it.each([
    ['fp16', 'float32', 0.002],
    ['int8', 'float32', 0.05],
    ['int4', 'float32', 0.4],
    ['fp32', 'int8', 0.05],
  ] as const)('in %s with a KV cache in %s is near fp32', async (precision, dtype, tolerance) => {
    const difference = deviation(
      await logitsOf(changes, precision, dtype),
      await logitsOf(changes, 'fp32'),
    );
    expect(difference).toBeGreaterThan(0);
    expect(difference).toBeLessThan(tolerance);
  });
});
