/** Drawn images of all kinds, against Pillow and Transformers (scripts/references/images.py). */
import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ImageDecoder } from '../../src/images/decode.ts';
import { cropped, type Preprocessing, resized, toNumbers } from '../../src/images/preprocess.ts';

const size = z.object({ width: z.int(), height: z.int() });
const bytes = z.string().transform((text) => Buffer.from(text, 'base64'));
const steps = {
  file: bytes,
  resize: z.union([z.int(), size]),
  resample: z.enum(['nearest', 'box', 'bilinear', 'bicubic', 'lanczos']),
  crop: size.nullable(),
};
const fixture = z.object({
  cases: z.array(
    z.object({ kind: z.string(), ...steps, width: z.int(), height: z.int(), pixels: bytes }),
  ),
  processed: z.array(
    z.object({ ...steps, mean: z.array(z.number()), std: z.array(z.number()), numbers: bytes }),
  ),
});

const MAX_PIXELS = 2 ** 20;
const PLAIN: Preprocessing = {
  resize: null,
  resample: 'bilinear',
  crop: null,
  rescale: 1 / 255,
  mean: [0, 0, 0],
  std: [1, 1, 1],
  channels: 'rgb',
  layout: 'NCHW',
};

let decoder: ImageDecoder;
let references: z.infer<typeof fixture>;

beforeAll(async () => {
  decoder = await ImageDecoder.load();
  const packed = await readFile(new URL('../fixtures/images.json.gz', import.meta.url));
  references = fixture.parse(JSON.parse(gunzipSync(packed).toString('utf8')));
});

async function prepared(file: Uint8Array, preprocessing: Preprocessing) {
  const image = await decoder.decode(file, { maxPixels: MAX_PIXELS, maxSeconds: 10 });
  return cropped(resized(image, preprocessing, MAX_PIXELS), preprocessing);
}

function largestDifference(made: ArrayLike<number>, expected: ArrayLike<number>): number {
  expect(made).toHaveLength(expected.length);
  let largest = 0;
  for (let index = 0; index < expected.length; index++) {
    largest = Math.max(largest, Math.abs((made[index] ?? 0) - (expected[index] ?? 0)));
  }
  return largest;
}

describe('preprocessing', () => {
  test('gives the bytes that Pillow does', async () => {
    expect(references.cases).toHaveLength(200);
    const differences: [string, number][] = [];
    for (const { kind, file, resize, resample, crop, width, height, pixels } of references.cases) {
      const image = await prepared(file, { ...PLAIN, resize, resample, crop });
      expect([kind, image.width, image.height]).toEqual([kind, width, height]);
      const difference = largestDifference(image.data, pixels);
      if (difference > 0) differences.push([kind, difference]);
    }
    expect(differences).toEqual([]);
  });

  test('gives the numbers that processors of Transformers do', async () => {
    expect(references.processed).toHaveLength(8);
    for (const { file, resize, resample, crop, mean, std, numbers } of references.processed) {
      const preprocessing = { ...PLAIN, resize, resample, crop, mean, std };
      const made = toNumbers(await prepared(file, preprocessing), preprocessing);
      const { buffer, byteOffset, length } = numbers;
      const expected = new Float32Array(buffer.slice(byteOffset, byteOffset + length));
      expect(largestDifference(made, expected)).toBeLessThan(1e-6);
    }
  });

  test('puts channels and layout as they are asked for', () => {
    const image = { width: 2, height: 1, data: Uint8Array.of(1, 2, 3, 4, 5, 6) };
    const numbers = (some: Partial<Preprocessing>) =>
      Array.from(toNumbers(image, { ...PLAIN, rescale: 1, ...some }));
    expect(numbers({})).toEqual([1, 4, 2, 5, 3, 6]);
    expect(numbers({ channels: 'bgr' })).toEqual([3, 6, 2, 5, 1, 4]);
    expect(numbers({ layout: 'NHWC' })).toEqual([1, 2, 3, 4, 5, 6]);
    expect(numbers({ layout: 'NHWC', channels: 'bgr', mean: [1, 0, 0] })).toEqual([
      2, 2, 1, 5, 5, 4,
    ]);
  });
});
