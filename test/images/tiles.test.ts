/** Images cut into tiles, against Transformers (scripts/references/tiles.py). */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ImageDecoder } from '../../src/images/decode.ts';
import { cutTiles, tileGrid, type Tiling } from '../../src/images/tiles.ts';
import { decodedOnWhite, drawnCases } from '../support/drawn-images.ts';

const tiling = z.object({
  longestEdge: z.int(),
  tileSide: z.int(),
  splits: z.boolean(),
  resample: z.enum(['bilinear', 'bicubic', 'lanczos']),
});
const reference = z.object({
  tiling,
  rows: z.int(),
  columns: z.int(),
  tiles: z.int(),
  sha256: z.string(),
});

test('200 drawn images become the bytes that the processors of Transformers make', async () => {
  const images = await drawnCases('tiles.json', reference);
  expect(images).toHaveLength(200);
  const decoder = await ImageDecoder.load();
  for (const { kind, file, expected } of images) {
    const { tiling: how, ...of } = expected;
    const image = await decodedOnWhite(decoder, file);
    const { tiles, rows, columns } = cutTiles(image, how);
    const hash = createHash('sha256');
    for (const { data } of tiles) hash.update(data);
    const made = {
      kind,
      rows,
      columns,
      tiles: tiles.length,
      sha256: hash.digest('hex').slice(0, 16),
    };
    expect(made).toEqual({ kind, ...of });
  }
});

const SMOLVLM: Tiling = { longestEdge: 2048, tileSide: 512, splits: true, resample: 'lanczos' };

test('how many tiles there are follows from an image’s size, and has an end', () => {
  const tilesOf = (width: number, height: number, how: Partial<Tiling> = {}) => {
    const { rows, columns } = tileGrid({ width, height }, { ...SMOLVLM, ...how });
    return [rows, columns];
  };
  expect(tilesOf(640, 480)).toEqual([3, 4]);
  expect(tilesOf(480, 640)).toEqual([4, 3]);
  expect(tilesOf(640, 480, { splits: false })).toEqual([0, 0]);
  expect(tilesOf(640, 480, { longestEdge: 512 })).toEqual([0, 0]);
  expect(tilesOf(1, 25_000_000)).toEqual([4, 1]);
  expect(tilesOf(25_000_000, 1)).toEqual([1, 4]);
  // No side grows beyond 4096 pixels.
  expect(tilesOf(5000, 5000, { longestEdge: 1_000_000 })).toEqual([8, 8]);
});
