/** The middle of images, against Transformers (scripts/references/crops.py). */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { type CropCutting, cutImage, inLowDetail } from '../../src/images/cut-image.ts';
import { ImageDecoder } from '../../src/images/decode.ts';
import { ImageError } from '../../src/images/image-error.ts';
import { decodedOnWhite, drawnCases } from '../support/drawn-images.ts';

const reference = z.object({
  shortestEdge: z.int(),
  side: z.int(),
  resample: z.enum(['bilinear', 'bicubic', 'lanczos']),
  sha256: z.string(),
});

test('200 drawn images become the bytes that the processor of Transformers makes', async () => {
  const images = await drawnCases('crops.json', reference);
  expect(images).toHaveLength(200);
  const decoder = await ImageDecoder.load();
  for (const { kind, file, expected } of images) {
    const { sha256, ...how } = expected;
    const image = await decodedOnWhite(decoder, file);
    const { tiles, rows, columns } = cutImage(image, { kind: 'crop', ...how });
    expect({ numTiles: tiles.length, rows, columns }).toEqual({ numTiles: 1, rows: 0, columns: 0 });
    const hash = createHash('sha256').update(tiles[0]?.data ?? '');
    expect({ kind, sha256: hash.digest('hex').slice(0, 16) }).toEqual({ kind, sha256 });
  }
});

const CUTTING: CropCutting = { kind: 'crop', shortestEdge: 336, side: 336, resample: 'bicubic' };

test('a crop has no low detail', () => {
  expect(inLowDetail(CUTTING)).toEqual(CUTTING);
});

test('an image that would become too large before it is cropped is refused', () => {
  const line = (width: number) => ({ width, height: 1, data: new Uint8Array(width * 3) });
  expect(() => cutImage(line(65_535), CUTTING)).toThrow(ImageError);
  expect(() => cutImage(line(222), CUTTING)).toThrow(/too long to be resized/);
  expect(cutImage(line(100), CUTTING).tiles[0]?.data).toHaveLength(336 * 336 * 3);
});
