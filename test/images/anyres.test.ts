/** Images cut in their own shape onto canvases, against Transformers (scripts/references/anyres.py and onevision.py). */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { anyresGrid, cutAnyres } from '../../src/images/anyres.ts';
import { amongOthers, cutImage, inLowDetail } from '../../src/images/cut-image.ts';
import { ImageDecoder } from '../../src/images/decode.ts';
import { numPackedRows } from '../../src/model/vision/packed-rows.ts';
import { decodedOnWhite, drawnCases } from '../support/drawn-images.ts';

const reference = z.object({
  tiling: z.object({
    tileSide: z.int(),
    cells: z.int(),
    canvases: z.array(z.object({ rows: z.int(), columns: z.int() })),
    resample: z.enum(['bilinear', 'bicubic', 'lanczos']),
  }),
  tiles: z.int(),
  tokens: z.int(),
  sha256: z.string(),
});

const CANVASES = [
  { rows: 1, columns: 2 },
  { rows: 2, columns: 1 },
  { rows: 2, columns: 2 },
];
const PUBLISHED = {
  tileSide: 336,
  cells: 24,
  canvases: CANVASES,
  splits: true,
  resample: 'bicubic',
} as const;

test('200 drawn images become the bytes and as many tokens as the processor of Transformers makes', async () => {
  const images = await drawnCases('anyres.json', reference);
  expect(images).toHaveLength(200);
  const decoder = await ImageDecoder.load();
  for (const { kind, file, expected } of images) {
    const { tiling, ...of } = expected;
    const image = await decodedOnWhite(decoder, file);
    const { tiles, ...grid } = cutAnyres(image, { ...tiling, splits: true });
    const hash = createHash('sha256');
    for (const { data } of tiles) hash.update(data);
    const tokens = numPackedRows(grid, tiling.cells ** 2);
    const sha256 = hash.digest('hex').slice(0, 16);
    expect({ kind, tiles: tiles.length, tokens, sha256 }).toEqual({ kind, ...of });
  }
});

const onevision = z.object({
  tiling: z.object({
    tileSide: z.int(),
    cells: z.int(),
    /** Canvases have up to so many tiles along each side. */
    along: z.int(),
    resample: z.enum(['bilinear', 'bicubic', 'lanczos']),
    maxTiles: z.int(),
    margins: z.tuple([z.int(), z.int(), z.int()]),
  }),
  tiles: z.int(),
  tokens: z.int(),
  sha256: z.string(),
  amongOthers: z.string(),
});

test('they become those of LLaVA-OneVision, alone and as one of several', async () => {
  const images = await drawnCases('onevision.json', onevision);
  expect(images).toHaveLength(200);
  const decoder = await ImageDecoder.load();
  let numScaled = 0;
  for (const { kind, file, expected } of images) {
    const { along, ...tiling } = expected.tiling;
    const image = await decodedOnWhite(decoder, file);
    const sides = Array.from({ length: along }, (_, index) => index + 1);
    const canvases = sides.flatMap((rows) => sides.map((columns) => ({ rows, columns })));
    const cutting = { kind: 'anyres', ...tiling, canvases, splits: true } as const;
    const { tiles, ...grid } = cutImage(image, cutting);
    const hash = createHash('sha256');
    for (const { data } of tiles) hash.update(data);
    const tokens = numPackedRows(grid, tiling.cells ** 2);
    numScaled += grid.scaled === undefined ? 0 : 1;
    const other = cutImage(image, amongOthers(cutting));
    expect(other.tiles).toHaveLength(1);
    expect({
      kind,
      tiles: tiles.length,
      tokens,
      sha256: hash.digest('hex').slice(0, 16),
      amongOthers: digest(other.tiles[0]?.data),
    }).toEqual({ kind, ...expected, tiling: undefined });
  }
  expect(numScaled).toBeGreaterThan(20);
});

function digest(data: Uint8Array = new Uint8Array()): string {
  return createHash('sha256').update(data).digest('hex').slice(0, 16);
}

test('tokens of margins are not shown, and of what is nearly a line none', () => {
  const shown = (width: number, height: number) => anyresGrid({ width, height }, PUBLISHED);
  expect(shown(672, 672)).toEqual({ rows: 2, columns: 2, shown: { rows: 48, columns: 48 } });
  expect(shown(640, 300)).toEqual({ rows: 1, columns: 2, shown: { rows: 22, columns: 48 } });
  expect(shown(600, 200)).toMatchObject({ shown: { rows: 16, columns: 48 } });
  expect(shown(65_535, 1)).toMatchObject({ shown: { rows: 0, columns: 48 } });
  expect(shown(1, 65_535)).toMatchObject({ shown: { columns: 0 } });
});

test('tokens of many tiles are scaled to those of a few, of the same shape', () => {
  const sides = [1, 2, 3, 4, 5, 6];
  const canvases = sides.flatMap((rows) => sides.map((columns) => ({ rows, columns })));
  const published = { ...PUBLISHED, tileSide: 384, cells: 27, canvases, maxTiles: 9 };
  const scaled = (width: number, height: number) => anyresGrid({ width, height }, published).scaled;
  expect(scaled(1152, 1152)).toBeUndefined();
  // 108 x 71 tokens are not much more than those of 9 tiles.
  expect(scaled(1536, 1000)).toBeUndefined();
  // 12 tiles are 1.15 times as long as 9 of the same shape.
  expect(scaled(1536, 1152)).toEqual({ rows: 70, columns: 93 });
  expect(scaled(2304, 2304)).toEqual({ rows: 81, columns: 81 });
  expect(scaled(2304, 384)).toBeUndefined();
});

test('an image of which little is to be seen is one tile', () => {
  const image = { width: 16, height: 4, data: new Uint8Array(16 * 4 * 3) };
  const cutting = { kind: 'anyres', ...PUBLISHED } as const;
  expect(cutImage(image, cutting).tiles).toHaveLength(3);
  const { tiles, ...grid } = cutImage(image, inLowDetail(cutting));
  expect([tiles.length, grid.rows, grid.columns, numPackedRows(grid, 576)]).toEqual([1, 0, 0, 577]);
});
