/** Images in their own size, against Transformers (scripts/references/lines.py). */
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { cutImage, inLowDetail, type LineCutting, withCells } from '../../src/images/cut-image.ts';
import { ImageDecoder } from '../../src/images/decode.ts';
import { ImageError } from '../../src/images/image-error.ts';
import { lineGrid } from '../../src/images/lines.ts';
import { refusable } from '../fuzz/guided/target.ts';
import { decodedOnWhite, drawnCases } from '../support/drawn-images.ts';

const reference = z.object({
  lining: z.object({
    patchSide: z.int(),
    merge: z.int(),
    longestEdge: z.int(),
    resample: z.enum(['bilinear', 'bicubic', 'lanczos']),
  }),
  rows: z.int(),
  columns: z.int(),
  /** Null for an image that becomes less than a pixel wide. */
  sha256: z.string().nullable(),
});

test('200 drawn images become the bytes that the processor of Transformers makes', async () => {
  const images = await drawnCases('lines.json', reference);
  expect(images).toHaveLength(200);
  const decoder = await ImageDecoder.load();
  for (const { kind, file, expected } of images) {
    const { sha256, lining, ...grid } = expected;
    const image = await decodedOnWhite(decoder, file);
    const cutting: LineCutting = { kind: 'lines', ...lining, maxCells: Infinity };
    const cut = refusable(() => cutImage(image, cutting), ImageError);
    const hash = createHash('sha256').update(cut?.tiles[0]?.data ?? '');
    const found = {
      kind,
      rows: cut?.rows ?? 0,
      columns: cut?.columns ?? 0,
      sha256: cut === undefined ? null : hash.digest('hex').slice(0, 16),
    };
    expect(found).toEqual({ kind, ...grid, sha256 });
  }
});

const CUTTING: LineCutting = {
  kind: 'lines',
  patchSide: 14,
  merge: 2,
  longestEdge: 1540,
  maxCells: 4096,
  resample: 'bicubic',
};

test('an image has no more cells than may be, and about as many where it had more', () => {
  const side = fc.integer({ min: 1, max: 65_535 });
  const most = fc.integer({ min: 1, max: 4096 });
  fc.assert(
    fc.property(side, side, most, (width, height, maxCells) => {
      const cellsOf = () => {
        const { rows, columns } = lineGrid({ width, height }, { ...CUTTING, maxCells });
        return rows * columns;
      };
      const isThin = Math.max(width, height) / Math.min(width, height) > 28;
      const numCells = isThin ? refusable(cellsOf, ImageError) : cellsOf();
      expect(numCells ?? 1).toBeGreaterThan(0);
      expect(numCells ?? 1).toBeLessThanOrEqual(maxCells);
    }),
  );
  const square = { width: 3000, height: 3000 };
  expect(lineGrid(square, CUTTING)).toEqual({ rows: 55, columns: 55 });
  expect(lineGrid(square, { ...CUTTING, maxCells: 1280 })).toEqual({ rows: 35, columns: 35 });
});

test('low detail is few cells', () => {
  expect(inLowDetail(CUTTING)).toEqual({ ...CUTTING, maxCells: 256 });
  expect(withCells(CUTTING, 5000)).toEqual(CUTTING);
});
