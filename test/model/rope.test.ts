import { expect, test } from 'vitest';

import { rotaryFrequencies, rotaryTables, type RopeScaling } from '../../src/model/rope.ts';
import { scaledFrequency } from '../support/reference-llama.ts';

const LLAMA3: RopeScaling = {
  type: 'llama3',
  factor: 8,
  lowFreqFactor: 1,
  highFreqFactor: 4,
  originalMaxPositionEmbeddings: 8192,
};

test.each<[string, RopeScaling]>([
  ['default', { type: 'default' }],
  ['linear', { type: 'linear', factor: 4 }],
  ['llama3', LLAMA3],
])('%s frequencies match the published formula', (_, ropeScaling) => {
  const shape = { headDim: 128, ropeTheta: 500_000, ropeScaling };
  const frequencies = [...rotaryFrequencies(shape)];
  expect(frequencies).toHaveLength(64);
  frequencies.forEach((frequency, i) => {
    const expected = scaledFrequency(1 / 500_000 ** ((2 * i) / 128), ropeScaling);
    expect(frequency / expected).toBeCloseTo(1, 12);
  });
});

test('Llama 3 scaling leaves short waves, stretches long ones, and mixes between', () => {
  const shape = { headDim: 128, ropeTheta: 500_000 };
  const plain = rotaryFrequencies({ ...shape, ropeScaling: { type: 'default' } });
  const scaled = rotaryFrequencies({ ...shape, ropeScaling: LLAMA3 });
  const stretch = [...plain].map((frequency, i) => frequency / (scaled[i] ?? 0));
  expect(stretch[0]).toBe(1);
  expect(stretch[63]).toBeCloseTo(8, 12);
  expect(stretch.some((factor) => factor > 2 && factor < 7)).toBe(true);
  expect(stretch).toEqual([...stretch].sort((a, b) => a - b));
});

test("the tables hold the cosine and sine of position times frequency, by the root of attention's scale", () => {
  const shape = {
    headDim: 16,
    ropeTheta: 10_000,
    ropeScaling: { type: 'default' },
    attentionScale: 0.25,
  } as const;
  const { cos, sin } = rotaryTables(shape, 100);
  expect([cos.length, sin.length]).toEqual([800, 800]);
  expect(cos[0]).toBe(0.5);
  expect(cos[99 * 8]).toBe(Math.fround(Math.cos(99) / 2));
  expect(sin[99 * 8 + 4]).toBe(Math.fround(Math.sin(99 * 0.01) / 2));
});
