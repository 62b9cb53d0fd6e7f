import { join } from 'node:path';

import { describe, expect, onTestFinished, test } from 'vitest';

import { parseDecoderConfig, type DecoderConfig } from '../../src/model/config.ts';
import { buildDecoderGraph } from '../../src/model/decoder-graph.ts';
import { PRESETS } from '../../src/model/presets.ts';
import { RandomWeights } from '../../src/model/random-weights.ts';
import type { WeightSource } from '../../src/model/weights.ts';
import { DecoderRun } from '../support/decoder-run.ts';
import { referenceLogits } from '../support/reference-llama.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const CAPACITY = 48;
const PROMPT = [1, 17, 300, 42, 511, 0, 7, 7, 256, 99];

/** Random weights wide enough that every part of the model shows in the logits. */
class LoudWeights implements WeightSource {
  readonly #random = new RandomWeights(3);
  readonly #silent: RegExp | undefined;

  constructor(silent?: RegExp) {
    this.#silent = silent;
  }

  async get(name: string, shape: readonly number[]): Promise<Float32Array> {
    if (this.#silent?.test(name)) {
      return new Float32Array(shape.reduce((product, dim) => product * dim, 1));
    }
    if (name.endsWith('norm.weight')) {
      const varied = await this.#random.get(`${name} varied`, shape);
      return varied.map((value) => 1 + 10 * value);
    }
    return (await this.#random.get(name, shape)).map((value) => value * 8);
  }

  async close(): Promise<void> {
    await this.#random.close();
  }
}

async function decoder(
  config: DecoderConfig,
  weights: WeightSource,
  batch: number,
  capacity = CAPACITY,
): Promise<DecoderRun> {
  const path = join(await temporaryDirectory(), 'decoder.onnx');
  await buildDecoderGraph(config, weights, { precision: 'fp32' }).write(path);
  const run = await DecoderRun.create(path, config, batch, capacity);
  onTestFinished(() => run.release());
  return run;
}

const tiny = (changes: object = {}): DecoderConfig =>
  parseDecoderConfig({ ...PRESETS.tiny, ...changes }, 'tiny');

function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  expect(a.length).toBe(b.length);
  return Array.from(a).reduce((max, value, i) => Math.max(max, Math.abs(value - (b[i] ?? NaN))), 0);
}

const QWEN2_WINDOWS = { model_type: 'qwen2', sliding_window: 3, use_sliding_window: true };
/** The first layer has a window, the second has none. */
const GEMMA3 = {
  model_type: 'gemma3_text',
  sliding_window: 4,
  sliding_window_pattern: 2,
  rope_theta: 1000,
  rope_local_base_freq: 50,
  rope_scaling: { rope_type: 'linear', factor: 3 },
};

describe('logits equal those of a plain forward pass', () => {
  const llama3 = {
    rope_type: 'llama3',
    factor: 4,
    low_freq_factor: 1,
    high_freq_factor: 4,
    original_max_position_embeddings: 64,
  };
  test.each([
    ['Llama', {}],
    ['with separate output embeddings', { tie_word_embeddings: false }],
    ['with one key-value head per query head', { num_key_value_heads: 4 }],
    ['with heads wider than the hidden size', { head_dim: 32 }],
    ['with attention biases', { attention_bias: true }],
    ['with MLP biases', { mlp_bias: true }],
    ['with Llama 3 rotary scaling', { rope_scaling: llama3 }],
    ['with linear rotary scaling', { rope_scaling: { type: 'linear', factor: 3 } }],
    ['with another rotary base', { rope_theta: 100 }],
    ['Qwen2', { model_type: 'qwen2' }],
    ['Mistral', { model_type: 'mistral' }],
    ['Mistral with a sliding window', { model_type: 'mistral', sliding_window: 4 }],
    ['Qwen2 with windows in its upper layers', { ...QWEN2_WINDOWS, max_window_layers: 1 }],
    ['Qwen3', { model_type: 'qwen3', head_dim: 32 }],
    ['Qwen3 with separate output embeddings', { model_type: 'qwen3', tie_word_embeddings: false }],
    ['Phi-3', { model_type: 'phi3', sliding_window: 5 }],
    ['Gemma 3', GEMMA3],
    ['Gemma 3 with another scale of attention', { ...GEMMA3, query_pre_attn_scalar: 40 }],
  ])('%s', async (_, changes) => {
    const config = tiny(changes);
    const weights = new LoudWeights();
    const run = await decoder(config, weights, 1);
    const expected = await referenceLogits(config, weights, PROMPT);
    expect(Math.max(...expected)).toBeGreaterThan(1);

    const [logits = []] = await run.step({ ids: [PROMPT], lengths: [PROMPT.length] });
    expect(largestDifference(logits, expected)).toBeLessThan(1e-4);
  });
});

test.each([
  ['Mistral', { model_type: 'mistral', sliding_window: 50 }],
  ['Gemma 3', { ...GEMMA3, sliding_window: 50 }],
])('a window in a longer text: %s', async (_, changes) => {
  const config = tiny(changes);
  const weights = new LoudWeights();
  const text = Array.from({ length: 140 }, (_each, index) => (index * 37) % 500);
  const run = await decoder(config, weights, 1, 160);
  await run.step({ ids: [text.slice(0, 100)], lengths: [100] });
  await run.step({ ids: [text.slice(100, 139)], lengths: [139] });
  const [logits = []] = await run.step({ ids: [text.slice(139)], lengths: [140] });
  const expected = await referenceLogits(config, weights, text);
  expect(largestDifference(logits, expected)).toBeLessThan(1e-4);
});

test("Qwen2's biases matter", async () => {
  const config = tiny({ model_type: 'qwen2' });
  const step = { ids: [PROMPT], lengths: [PROMPT.length] };
  const [biased = []] = await (await decoder(config, new LoudWeights(), 1)).step(step);
  for (const silent of [/q_proj\.bias$/, /k_proj\.bias$/, /v_proj\.bias$/]) {
    const [unbiased = []] = await (await decoder(config, new LoudWeights(silent), 1)).step(step);
    expect(largestDifference(biased, unbiased)).toBeGreaterThan(1e-3);
  }
});

test.each([
  ['Llama', {}],
  ['a sliding window', { model_type: 'mistral', sliding_window: 4 }],
  ['Qwen3', { model_type: 'qwen3' }],
  ['Gemma 3', GEMMA3],
])('chunked prefill and decoding continue what is in the cache: %s', async (_, changes) => {
  const config = tiny(changes);
  const weights = new LoudWeights();
  const run = await decoder(config, weights, 1);
  await run.step({ ids: [PROMPT.slice(0, 4)], lengths: [4] });
  await run.step({ ids: [PROMPT.slice(4, 9)], lengths: [9] });
  const [logits = []] = await run.step({ ids: [PROMPT.slice(9)], lengths: [10] });
  const expected = await referenceLogits(config, weights, PROMPT);
  expect(largestDifference(logits, expected)).toBeLessThan(1e-4);
});

test('rows of different lengths do not touch each other', async () => {
  const config = tiny();
  const weights = new LoudWeights();
  const run = await decoder(config, weights, 3);
  const prompts = [PROMPT, PROMPT.slice(3, 7), [5]];
  const padded = prompts.map((ids) => PROMPT.map((_, i) => ids[i] ?? 0));
  const lengths = prompts.map((ids) => ids.length);
  const wanted = lengths.map((length) => length - 1);
  const prefill = await run.step({ ids: padded, lengths, wanted });
  const decode = await run.step({
    ids: [[8], [9], [10]],
    lengths: lengths.map((length) => length + 1),
  });
  for (const [row, ids] of prompts.entries()) {
    const first = await referenceLogits(config, weights, ids);
    expect(largestDifference(prefill[row] ?? [], first)).toBeLessThan(1e-4);
    const second = await referenceLogits(config, weights, [...ids, 8 + row]);
    expect(largestDifference(decode[row] ?? [], second)).toBeLessThan(1e-4);
  }
});

test('the present has the shape of the past, so that both can share a buffer', async () => {
  const run = await decoder(tiny(), new RandomWeights(0), 2);
  const before = run.cacheDims;
  expect(before).toEqual(Array.from({ length: 4 }, () => [2, 2, CAPACITY, 16]));
  await run.step({
    ids: [
      [1, 2, 3],
      [4, 5, 6],
    ],
    lengths: [3, 3],
  });
  await run.step({ ids: [[1], [4]], lengths: [4, 4] });
  expect(run.cacheDims).toEqual(before);
});
