/** Images as patches, against Transformers (scripts/references/patches.py). */
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { type GridCutting, inLowDetail } from '../../src/images/cut-image.ts';
import { ImageDecoder } from '../../src/images/decode.ts';
import { ImageError } from '../../src/images/image-error.ts';
import { cellGrid, cutPatches } from '../../src/images/patches.ts';
import { decodedOnWhite, drawnCases } from '../support/drawn-images.ts';

const patching = z.object({
  patchSide: z.int(),
  merge: z.int(),
  minPixels: z.int(),
  maxPixels: z.int(),
  resample: z.enum(['bilinear', 'bicubic', 'lanczos']),
});
const reference = z.object({ patching, rows: z.int(), columns: z.int(), sha256: z.string() });

test('200 drawn images become the bytes that the processor of Transformers makes', async () => {
  const images = await drawnCases('patches.json', reference);
  expect(images).toHaveLength(200);
  const decoder = await ImageDecoder.load();
  for (const { kind, file, expected } of images) {
    const { patching: how, ...of } = expected;
    const image = await decodedOnWhite(decoder, file);
    const { tiles, rows, columns } = cutPatches(image, how);
    const hash = createHash('sha256');
    for (const { data } of tiles) hash.update(data);
    const sha256 = hash.digest('hex').slice(0, 16);
    expect({ kind, rows, columns, sha256 }).toEqual({ kind, ...of });
  }
});

const QWEN: GridCutting = {
  kind: 'grid',
  patchSide: 14,
  merge: 2,
  minPixels: 3136,
  maxPixels: 1_003_520,
  resample: 'bicubic',
};

test('how many cells there are follows from an image’s size, and has an end', () => {
  const cells = (width: number, height: number, how = QWEN) => {
    const { rows, columns } = cellGrid({ width, height }, how);
    return [rows, columns];
  };
  expect(cells(640, 480)).toEqual([17, 23]);
  expect(cells(1, 1)).toEqual([2, 2]);
  // Halves go to the even side.
  expect(cells(70, 98)).toEqual([4, 2]);
  expect(cells(200, 1)).toEqual([1, 29]);
  expect(() => cells(201, 1)).toThrow(/201 x 1 is more than 200 times longer/);
  expect(() => cells(1, 65_535)).toThrow(ImageError);
  const side = fc.integer({ min: 1, max: 65_535 });
  const numCells = QWEN.maxPixels / 28 ** 2;
  fc.assert(
    fc.property(side, fc.double({ min: 1 / 200, max: 200, noNaN: true }), (width, ratio) => {
      const height = Math.min(
        Math.max(Math.round(width * ratio), Math.ceil(width / 200)),
        200 * width,
      );
      const [rows = 0, columns = 0] = cells(width, height);
      expect(rows * columns).toBeGreaterThan(0);
      expect(rows * columns).toBeLessThanOrEqual(numCells);
      const [low = 0, wide = 0] = cells(width, height, {
        ...QWEN,
        ...inLowDetail(QWEN),
        kind: 'grid',
      });
      expect(low * wide).toBeLessThanOrEqual(256);
    }),
  );
});
