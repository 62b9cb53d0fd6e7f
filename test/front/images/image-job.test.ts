import sharp from 'sharp';
import { expect, test } from 'vitest';
import { type ReadTiles, runImageJob } from '../../../src/front/images/image-job.ts';
import type { Cutting } from '../../../src/images/cut-image.ts';
import { ImageDecoder } from '../../../src/images/decode.ts';

/** Result of an image that is blue everywhere. */
async function read(width: number, height: number, cutting: Cutting): Promise<ReadTiles> {
  const file = await sharp({ create: { width, height, channels: 3, background: 'blue' } })
    .png()
    .toBuffer();
  const job = { file, cutting, wantsPixels: true };
  const answer = await runImageJob(await ImageDecoder.load(), job);
  if (answer.type === 'refused') throw new Error(answer.message);
  // A job is answered as it asks.
  return answer.result as ReadTiles;
}

test('patches that are the same in another grid are another image', async () => {
  const patching: Cutting = {
    kind: 'grid',
    patchSide: 4,
    merge: 2,
    minPixels: 1,
    maxPixels: 1e6,
    resample: 'bicubic',
  };
  const wide = await read(32, 16, patching);
  const tall = await read(16, 32, patching);
  expect([wide.rows, wide.columns, tall.rows, tall.columns]).toEqual([2, 4, 4, 2]);
  expect(wide.pixels).toEqual(tall.pixels);
  expect(wide.hashes).not.toEqual(tall.hashes);
  expect((await read(32, 16, patching)).hashes).toEqual(wide.hashes);
});

test('tiles are the same wherever they are', async () => {
  const tiling: Cutting = {
    kind: 'tiles',
    longestEdge: 32,
    tileSide: 16,
    splits: true,
    resample: 'lanczos',
  };
  const { rows, columns, hashes } = await read(32, 16, tiling);
  expect([rows, columns]).toEqual([1, 2]);
  expect(new Set(hashes).size).toBe(1);
});
