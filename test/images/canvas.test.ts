/** Images cut onto canvases of tiles, against Transformers (scripts/references/canvases.py). */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ImageDecoder } from '../../src/images/decode.ts';
import { canvasGrid, cutCanvas } from '../../src/images/canvas.ts';
import { cutImage, inLowDetail } from '../../src/images/cut-image.ts';
import { decodedOnWhite, drawnCases } from '../support/drawn-images.ts';

const reference = z.object({
  tiling: z.object({
    tileSide: z.int(),
    minTiles: z.int(),
    maxTiles: z.int(),
    resample: z.enum(['bilinear', 'bicubic', 'lanczos']),
  }),
  tiles: z.int(),
  sha256: z.string(),
});

const PUBLISHED = { tileSide: 448, minTiles: 1, maxTiles: 12, resample: 'bicubic' } as const;

test('200 drawn images become the bytes that the processor of Transformers makes', async () => {
  const images = await drawnCases('canvases.json', reference);
  expect(images).toHaveLength(200);
  const decoder = await ImageDecoder.load();
  for (const { kind, file, expected } of images) {
    const { tiling, ...of } = expected;
    const { tiles } = cutCanvas(await decodedOnWhite(decoder, file), tiling);
    const hash = createHash('sha256');
    for (const { data } of tiles) hash.update(data);
    const made = { kind, tiles: tiles.length, sha256: hash.digest('hex').slice(0, 16) };
    expect(made).toEqual({ kind, ...of });
  }
});

test('how many tiles there are follows from an image’s size, and has an end', () => {
  const tilesOf = (width: number, height: number, how: Partial<typeof PUBLISHED> = {}) => {
    const { rows, columns } = canvasGrid({ width, height }, { ...PUBLISHED, ...how });
    return [rows, columns];
  };
  expect(tilesOf(640, 480)).toEqual([3, 4]);
  expect(tilesOf(64, 48)).toEqual([3, 4]);
  expect(tilesOf(400, 400)).toEqual([0, 0]);
  expect(tilesOf(1000, 1000)).toEqual([3, 3]);
  expect(tilesOf(1, 65_535)).toEqual([12, 1]);
  expect(tilesOf(65_535, 1)).toEqual([1, 12]);
});

test('an image of which little is to be seen is one tile', () => {
  const cutting = { kind: 'canvas', ...PUBLISHED, tileSide: 4 } as const;
  const image = { width: 16, height: 4, data: new Uint8Array(16 * 4 * 3) };
  expect(cutImage(image, cutting).tiles).toHaveLength(5);
  for (const minTiles of [1, 3]) {
    const { tiles, rows, columns } = cutImage(image, inLowDetail({ ...cutting, minTiles }));
    expect([tiles.length, rows, columns]).toEqual([1, 0, 0]);
  }
});
