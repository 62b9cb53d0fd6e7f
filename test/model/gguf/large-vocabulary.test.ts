/** GGUF files with as many tokens as models have that people use: nothing may be a list of weights. */
import { join } from 'node:path';

import { afterEach, beforeEach, expect, it } from 'vitest';

import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { Text } from '../../support/family-text.ts';
import { writeSparseLlama } from '../../support/sparse-llama.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';

/** Qwen2.5-0.5B's: its LM head has 136 million weights. */
const VOCAB_SIZE = 151_936;
const WIDTH = 896;
const BLOCK = 32;
const SCALE = 2 ** -6;
/** SCALE as float16. */
const SCALE_BYTES = [0x00, 0x24];

/** Rows of the LM head that are not 0: on both sides of what V8's longest list has, and the last. */
const POSITIVE = [3, 117_341, VOCAB_SIZE - 1];
const NEGATIVE = 120_000;
const LAST = VOCAB_SIZE - 1;

/** One block's integers, from -7 to 7. */
const integers = Array.from({ length: BLOCK }, (_, i) => ((i * 5) % 15) - 7);

/** By type, how a block has these integers times a sign. */
const BLOCKS = {
  Q8_0: (sign: number) => [...SCALE_BYTES, ...integers.map((value) => (sign * value) & 255)],
  Q4_0: (sign: number) => {
    const stored = integers.map((value) => sign * value + 8);
    const [low, high] = [stored.slice(0, BLOCK / 2), stored.slice(BLOCK / 2)];
    return [...SCALE_BYTES, ...low.map((value, i) => value | ((high[i] ?? 0) << 4))];
  },
} as const;

let cache: Awaited<ReturnType<typeof temporaryCache>>;
beforeEach(async () => {
  cache = await temporaryCache();
});
afterEach(() => cache.remove());

/** A layer of zeros below an LM head that is the embedding, too. */
async function writeModel(type: keyof typeof BLOCKS): Promise<string> {
  const signs = [...POSITIVE.map((row) => [row, 1] as const), [NEGATIVE, -1] as const];
  const rows = signs.map(([row, sign]): [number, Uint8Array] => {
    const block = BLOCKS[type](sign);
    const blocks = Array.from({ length: WIDTH / BLOCK }, () => block);
    const bytes = Uint8Array.from(blocks.flat());
    return [row * bytes.length, bytes];
  });
  const path = join(cache.path, 'model.gguf');
  const pieces = { 'token_embd.weight': new Map(rows) };
  await writeSparseLlama(path, { vocabSize: VOCAB_SIZE, width: WIDTH, type, pieces });
  return path;
}

it.each([
  ['Q8_0', 'int8'],
  ['Q4_0', 'int4'],
] as const)('a head of 151,936 x 896 in %s is built in %s', async (type, precision) => {
  const path = await writeModel(type);
  const model = await prepareModel(
    { kind: 'folder', path },
    { precision, cacheDirectory: cache.path, nativeKernels: { kvCacheDtype: 'float32' } },
  );

  const reader = new Text(model, 64);
  const logits = reader.extend([LAST]);
  reader.release();

  // The norm of a row, all of whose blocks are the same, times itself.
  const squares = integers.reduce((sum, value) => sum + value * value, 0) / BLOCK;
  const expected = WIDTH * Math.sqrt(squares) * SCALE;
  const logit = logits[LAST] ?? 0;
  expect(Math.abs(logit / expected - 1)).toBeLessThan(0.01);
  const wanted = new Float32Array(VOCAB_SIZE);
  for (const row of POSITIVE) wanted[row] = logit;
  wanted[NEGATIVE] = -logit;
  expect(Buffer.compare(Buffer.from(logits.buffer), Buffer.from(wanted.buffer))).toBe(0);
});
