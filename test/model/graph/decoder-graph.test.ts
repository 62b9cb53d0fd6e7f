import { join } from 'node:path';

import { describe, expect, onTestFinished, test } from 'vitest';

import { parseDecoderConfig, type DecoderConfig } from '../../../src/model/huggingface/config.ts';
import { buildDecoderGraph } from '../../../src/model/graph/decoder-graph.ts';
import { PRESETS } from '../../../src/model/huggingface/presets.ts';
import { RandomWeights } from '../../../src/model/huggingface/random-weights.ts';
import type { WeightSource } from '../../../src/model/huggingface/weights.ts';
import { DecoderRun } from '../../support/decoder-run.ts';
import { referenceLogits } from '../../support/reference-llama.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const CAPACITY = 48;
const PROMPT = [1, 17, 300, 42, 511, 0, 7, 7, 256, 99];

/** Random weights wide enough that every part of the model shows in the logits. */
class LoudWeights implements WeightSource {
  readonly #random = new RandomWeights(3);

  async get(name: string, shape: readonly number[]): Promise<Float32Array> {
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
): Promise<DecoderRun> {
  const path = join(await temporaryDirectory(), 'decoder.onnx');
  await buildDecoderGraph(config, weights, { precision: 'fp32' }).write(path);
  const run = await DecoderRun.create(path, config, batch, CAPACITY);
  onTestFinished(() => run.release());
  return run;
}

const tiny = (changes: object = {}): DecoderConfig =>
  parseDecoderConfig({ ...PRESETS.tiny, ...changes }, 'tiny');

function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  expect(a.length).toBe(b.length);
  return Array.from(a).reduce((max, value, i) => Math.max(max, Math.abs(value - (b[i] ?? NaN))), 0);
}

describe('logits equal those of a plain forward pass', () => {
  test.each([
    ['Llama', {}],
    ['with separate output embeddings', { tie_word_embeddings: false }],
    ['with one key-value head per query head', { num_key_value_heads: 4 }],
    ['with heads wider than the hidden size', { head_dim: 32 }],
    ['with attention biases', { attention_bias: true }],
    ['with MLP biases', { mlp_bias: true }],
    ['with another rotary base', { rope_theta: 100 }],
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

test('chunked prefill and decoding continue what is in the cache', async () => {
  const config = tiny();
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
