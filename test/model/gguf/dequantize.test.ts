import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { DEQUANTIZE } from '../../../src/model/gguf/dequantize.ts';
import { tensorType } from '../../../src/model/gguf/tensor-types.ts';

/** By llama.cpp's Python package, see scripts/references/gguf_types.py. */
const cases = z
  .array(z.object({ type: z.string(), number: z.int(), blocks: z.base64(), values: z.base64() }))
  .parse(JSON.parse(await readFile('test/fixtures/gguf-types.json', 'utf8')));

/** In a buffer of their own. */
const decoded = (text: string) => new Uint8Array(Buffer.from(text, 'base64'));

test.each(cases)('$type', ({ type, number, blocks, values }) => {
  const bytes = decoded(blocks);
  const expected = new Float32Array(decoded(values).buffer);
  const { name, blockSize, blockBytes } = tensorType(number, 'a tensor');
  expect(name).toBe(type);
  expect((bytes.length / blockBytes) * blockSize).toBe(expected.length);

  const found = new Float32Array(expected.length);
  DEQUANTIZE[type]?.(bytes, found);

  // To the bit: the same roundings in the same order.
  expect([...found]).toEqual([...expected]);
});

test('every type that is read has a reference', () => {
  expect(cases.map(({ type }) => type).toSorted()).toEqual(Object.keys(DEQUANTIZE).toSorted());
});
