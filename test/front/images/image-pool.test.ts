import sharp from 'sharp';
import { expect, onTestFinished, test } from 'vitest';
import { ImagePool } from '../../../src/front/images/image-pool.ts';
import { imageConfigSchema, preprocessingOf } from '../../../src/front/images/image-config.ts';
import type { ImageType } from '../../../src/front/images/image-job.ts';
import { QueueFullError } from '../../../src/front/queue/admission.ts';
import { ImageError } from '../../../src/images/image-error.ts';
import { LIMITS } from '../../../src/limits.ts';
import { pngBomb } from '../../support/image-bombs.ts';

const CALLER = { client: 'a', signal: new AbortController().signal };
const FILE = await sharp({
  create: { width: 3, height: 2, channels: 3, background: '#ff8000' },
})
  .png()
  .toBuffer();

function openPool(): ImagePool {
  const pool = new ImagePool();
  onTestFinished(() => pool.close());
  return pool;
}

function jobOf(file: Uint8Array, datatype: ImageType = 'FP32', more: object = {}) {
  const config = imageConfigSchema.parse({ size: { height: 1, width: 1 }, ...more });
  return { file, preprocessing: preprocessingOf(config), datatype };
}

test('images become numbers of the type that is asked for', async () => {
  const pool = openPool();
  const floats = await pool.numbers(jobOf(FILE), CALLER);
  expect(floats).toEqual(Float32Array.of(1, 128 / 255, 0));
  const halves = await pool.numbers(jobOf(FILE, 'FP16', { rescale_factor: 1 / 256 }), CALLER);
  expect(halves).toEqual(Uint16Array.of(0x3bf8, 0x3800, 0));
  const bytes = await pool.numbers(jobOf(FILE, 'UINT8', { rescale_factor: 1 }), CALLER);
  expect(bytes).toEqual(Uint8Array.of(255, 128, 0));
});

test('what is refused by its head takes no place and no thread', async () => {
  const pool = openPool();
  const bomb = jobOf(pngBomb(60_000));
  for (let index = 0; index < 2 * LIMITS.imagesWaiting; index++) {
    await expect(pool.numbers(bomb, CALLER)).rejects.toThrow(ImageError);
  }
});

test('more than a client may have is refused, others still get their turn, and places come back', async () => {
  const pool = openPool();
  const run = (client: string) => pool.numbers(jobOf(FILE), { ...CALLER, client });
  const own = Array.from({ length: LIMITS.clientImagesWaiting }, () => run('a'));
  await expect(run('a')).rejects.toThrow(QueueFullError);
  await expect(run('b')).resolves.toHaveLength(3);
  await Promise.all(own);
  await expect(run('a')).resolves.toHaveLength(3);
});

test('more bytes than a client may have are refused', async () => {
  const pool = openPool();
  const large = Buffer.concat([FILE, Buffer.alloc(LIMITS.clientImageBytesWaiting)]);
  await expect(pool.numbers(jobOf(large), CALLER)).rejects.toThrow(QueueFullError);
});

test('what waits ends with its caller', async () => {
  const pool = openPool();
  const leaving = new AbortController();
  const signal = leaving.signal;
  const waiting = Array.from({ length: 50 }, () =>
    pool.numbers(jobOf(FILE), { client: 'a', signal }),
  );
  leaving.abort(new Error('gone'));
  const ends = await Promise.allSettled(waiting);
  expect(ends.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(40);
  await expect(pool.numbers(jobOf(FILE), CALLER)).resolves.toHaveLength(3);
});
