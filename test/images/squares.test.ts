/** Images as squares, against Transformers (scripts/references/squares.py). */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { cutImage, inLowDetail, type SquareCutting } from '../../src/images/cut-image.ts';
import { ImageDecoder } from '../../src/images/decode.ts';
import { decodedOnWhite, drawnCases } from '../support/drawn-images.ts';

const reference = z.object({
  side: z.int(),
  resample: z.enum(['bilinear', 'bicubic', 'lanczos']),
  sha256: z.string(),
});

test('200 drawn images become the bytes that the processor of Transformers makes', async () => {
  const images = await drawnCases('squares.json', reference);
  expect(images).toHaveLength(200);
  const decoder = await ImageDecoder.load();
  for (const { kind, file, expected } of images) {
    const { sha256, ...how } = expected;
    const image = await decodedOnWhite(decoder, file);
    const cutting: SquareCutting = { kind: 'square', ...how };
    const { tiles, rows, columns } = cutImage(image, cutting);
    expect({ numTiles: tiles.length, rows, columns }).toEqual({ numTiles: 1, rows: 0, columns: 0 });
    const hash = createHash('sha256').update(tiles[0]?.data ?? '');
    expect({ kind, sha256: hash.digest('hex').slice(0, 16) }).toEqual({ kind, sha256 });
  }
});

test('a square has no low detail', () => {
  const cutting: SquareCutting = { kind: 'square', side: 896, resample: 'bilinear' };
  expect(inLowDetail(cutting)).toEqual(cutting);
});
