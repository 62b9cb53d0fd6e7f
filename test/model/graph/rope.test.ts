import { readFile } from 'node:fs/promises';

import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import { parseDecoderConfig } from '../../../src/model/huggingface/config.ts';
import { rotaryTables, type RopeShape } from '../../../src/model/graph/rope.ts';
import { attentionFactor, scaledFrequency } from '../../../src/model/huggingface/rope-scaling.ts';
import { PRESETS } from '../../../src/model/huggingface/presets.ts';

/** Values that Transformers computes, see scripts/references. */
const referencesSchema = z
  .array(
    z.object({
      name: z.string(),
      config: z.looseObject({}),
      max_model_len: z.number(),
      frequencies: z.array(z.number()).min(1),
      attention_factor: z.number(),
    }),
  )
  .min(1);
const references = referencesSchema.parse(
  JSON.parse(await readFile('test/fixtures/rope.json', 'utf8')),
);

test.each(references)("frequencies are Transformers': $name", (reference) => {
  const json = { ...PRESETS.tiny, ...reference.config, head_dim: 128 };
  const config = parseDecoderConfig(json, 'config', reference.max_model_len);
  expect(config.rotaryDim / 2).toBe(reference.frequencies.length);
  for (const [index, expected] of reference.frequencies.entries()) {
    expect(scaledFrequency(config, index) / expected).toBeCloseTo(1, 5);
  }
  expect(attentionFactor(config.ropeScaling)).toBeCloseTo(reference.attention_factor, 6);
});

describe('the tables', () => {
  const shape: RopeShape = {
    headDim: 16,
    rotaryDim: 16,
    ropeTheta: 10_000,
    ropeScaling: { type: 'default' },
    attentionScale: 0.25,
  };

  test("hold the cosine and sine of position times frequency, by the root of attention's scale", () => {
    const { cos, sin } = rotaryTables(shape, 100);
    expect([cos.length, sin.length]).toEqual([800, 800]);
    expect(cos[0]).toBe(0.5);
    expect(cos[99 * 8]).toBe(Math.fround(Math.cos(99) / 2));
    expect(sin[99 * 8 + 4]).toBe(Math.fround(Math.sin(99 * 0.01) / 2));
  });

  test('leave what does not turn as it is, by the same root', () => {
    const scaling = { type: 'longrope', factors: [1, 1], attentionFactor: 3 } as const;
    const { cos, sin } = rotaryTables({ ...shape, rotaryDim: 4, ropeScaling: scaling }, 100);
    expect(cos[99 * 8]).toBe(Math.fround(1.5 * Math.cos(99)));
    expect(sin[99 * 8 + 1]).toBe(Math.fround(1.5 * Math.sin(99 * 0.01)));
    expect([...cos.subarray(99 * 8 + 2, 100 * 8)]).toEqual(Array.from({ length: 6 }, () => 0.5));
    expect([...sin.subarray(99 * 8 + 2, 100 * 8)]).toEqual(Array.from({ length: 6 }, () => 0));
  });
});
