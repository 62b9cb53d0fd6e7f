import sharp from 'sharp';
import { beforeAll, describe, expect, test } from 'vitest';
import { ImageDecoder } from '../../src/images/decode.ts';
import { readImageHeader } from '../../src/images/image-header.ts';
import { ImageError } from '../../src/images/image-error.ts';
import { resized } from '../../src/images/preprocess.ts';
import { pngBomb } from '../support/image-bombs.ts';

const LIMITS = { maxPixels: 10_000, maxSeconds: 5 };

let decoder: ImageDecoder;

beforeAll(async () => {
  decoder = await ImageDecoder.load();
});

function drawn(width = 50, height = 40) {
  return sharp({ create: { width, height, channels: 3, background: '#3a7' } });
}

async function refusal(file: Uint8Array): Promise<string> {
  const error: unknown = await decoder.decode(file, LIMITS).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ImageError);
  return error instanceof Error ? error.message : '';
}

test('sizes are read from the heads of files', async () => {
  const forms = [
    drawn(301, 7).png(),
    drawn(301, 7).jpeg(),
    drawn(301, 7).jpeg({ progressive: true }).withMetadata({ orientation: 6 }),
    drawn(301, 7).gif(),
    drawn(301, 7).webp(),
    drawn(301, 7).webp({ lossless: true }),
    drawn(301, 7).webp().withMetadata(),
  ];
  for (const form of forms) {
    const file = await form.toBuffer();
    expect(readImageHeader(file)).toEqual({ width: 301, height: 7 });
    // Whatever is cut off.
    for (let length = 0; length < 40; length++) readImageHeader(file.subarray(0, length));
  }
});

test('a JPEG that goes on and on without a frame is not read to its end', () => {
  const frame = Buffer.from('ffc0000b080010001001011100', 'hex');
  const filled = (length: number) =>
    Buffer.concat([Buffer.from('ffd8', 'hex'), Buffer.alloc(length, 0xff), frame]);
  expect(readImageHeader(filled(100))).toEqual({ width: 16, height: 16 });
  expect(readImageHeader(filled(2000))).toBe(null);
});

describe('an image is refused', () => {
  test('that has more pixels than it may, before it is decoded', async () => {
    const bomb = pngBomb(60_000);
    expect(await refusal(bomb)).toMatch(/pixels/);
    // Its pixels need not even be there.
    expect(await refusal(bomb.subarray(0, 50))).toMatch(/pixels/);
    await expect(decoder.decode(await drawn(100, 100).png().toBuffer(), LIMITS)).resolves.toEqual(
      expect.objectContaining({ width: 100, height: 100 }),
    );
    expect(await refusal(await drawn(100, 101).png().toBuffer())).toMatch(/pixels/);
  });

  test('that is longer than any filter should be', async () => {
    const long = await drawn(65_536, 1).png().toBuffer();
    const limits = { maxPixels: 100_000, maxSeconds: 5 };
    await expect(decoder.decode(long, limits)).rejects.toThrow(/a side has more than the 65535/);
    const longest = await drawn(1, 65_535).png().toBuffer();
    await expect(decoder.decode(longest, limits)).resolves.toMatchObject({ height: 65_535 });
  });

  test('that is cut short', async () => {
    for (const form of ['png', 'jpeg', 'webp', 'gif'] as const) {
      const file = await drawn()
        .composite([{ input: await drawn(9, 9).negate().png().toBuffer() }])
        .toFormat(form)
        .toBuffer();
      await expect(decoder.decode(file, LIMITS), form).resolves.toMatchObject({ width: 50 });
      expect(await refusal(file.subarray(0, file.length * 0.6)), form).toBe(
        'it is damaged, or cut short',
      );
    }
  });

  test('that is something else, whatever it is called', async () => {
    const others = [
      Buffer.alloc(0),
      Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'),
      Buffer.from('%PDF-1.4'),
      await drawn().tiff().toBuffer(),
      await drawn().avif().toBuffer(),
    ];
    for (const file of others) expect(await refusal(file)).toBe('it is no PNG, JPEG, WebP or GIF');
    // Only the beginning is an image's.
    for (const head of ['\x89PNG\r\n\x1a\n', '\xff\xd8\xff', 'GIF89a', 'RIFF....WEBP']) {
      const file = Buffer.concat([
        Buffer.from(head, 'latin1'),
        Buffer.from('<svg width="9" height="9"/>'),
      ]);
      await refusal(file);
    }
  });

  test('that is far too long to be resized', () => {
    const line = { width: 1, height: 900, data: new Uint8Array(2700) };
    const steps = {
      resize: 100,
      resample: 'box',
      crop: null,
      rescale: 1,
      mean: [],
      std: [],
      channels: 'rgb',
      layout: 'NCHW',
    } as const;
    expect(() => resized(line, steps, LIMITS.maxPixels)).toThrow('an image of 1 x 900 is too long');
  });
});
