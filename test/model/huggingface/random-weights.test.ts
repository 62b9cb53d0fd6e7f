import { expect, test } from 'vitest';

import { RandomWeights } from '../../../src/model/huggingface/random-weights.ts';

test('weights depend on the seed and the name alone', async () => {
  const values = await new RandomWeights(7).get('model.a.weight', [10, 10]);
  expect(await new RandomWeights(7).get('model.a.weight', [10, 10])).toEqual(values);
  expect(await new RandomWeights(8).get('model.a.weight', [10, 10])).not.toEqual(values);
  expect(await new RandomWeights(7).get('model.b.weight', [10, 10])).not.toEqual(values);
  // Builds are cached by the seed: what it means must not change unnoticed.
  expect([...values.subarray(0, 3)].map((value) => value.toFixed(6))).toEqual([
    '0.033559',
    '-0.025034',
    '0.011637',
  ]);
});

test('weights are bell-shaped around 0 with standard deviation 0.02', async () => {
  const values = await new RandomWeights(1).get('model.a.weight', [1000, 1000]);
  const share = (holds: (value: number) => boolean) => values.filter(holds).length / values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  expect(mean).toBeCloseTo(0, 4);
  expect(Math.sqrt(variance)).toBeCloseTo(0.02, 4);
  expect(share((value) => Math.abs(value) < 0.02)).toBeCloseTo(0.68, 1);
  expect(share((value) => Math.abs(value) > 0.04)).toBeCloseTo(0.05, 1);
  const neighbours = values
    .subarray(1)
    .reduce((sum, value, i) => sum + value * (values[i] ?? 0), 0);
  expect(neighbours / values.length / variance).toBeCloseTo(0, 2);
});

test('normalizations scale by 1', async () => {
  const weights = new RandomWeights(1);
  const ones = new Float32Array(4).fill(1);
  expect(await weights.get('model.norm.weight', [4])).toEqual(ones);
  expect(await weights.get('model.layers.0.input_layernorm.weight', [4])).toEqual(ones);
  expect(await weights.get('model.layers.0.self_attn.q_proj.bias', [4])).not.toEqual(ones);
});
