/** From a file to pixels. Its head is read first: nothing is decoded that is larger than it may be. */
import type { Metadata, Sharp, SharpOptions } from 'sharp';
import { IMAGE_LIMITS } from '../image-limits.ts';
import { ImageError } from './image-error.ts';
import { readImageHeader } from './image-header.ts';
import { CHANNELS, type Pixels } from './pixels.ts';

/** Loaders that may see a file; libvips has dozens more. */
const LOADERS = ['Jpeg', 'Png', 'Webp', 'Nsgif'].map((type) => `VipsForeignLoad${type}Buffer`);

export interface DecodeLimits {
  readonly maxPixels: number;
  /** After which decoding ends. */
  readonly maxSeconds: number;
}

/**
 * Treatment of transparency: it is left out, as Pillow's `convert('RGB')` does, or white is seen
 * through it, as Transformers' processors have it since version 5.
 */
export type Transparency = 'left out' | 'on white';

type Open = (file: Uint8Array, options: SharpOptions) => Sharp;

/** Decodes with sharp, and so with libvips: in one thread, and of a few formats only. */
export class ImageDecoder {
  readonly #open: Open;

  private constructor(open: Open) {
    this.#open = open;
  }

  /** @throws Error saying how to install sharp, where it is missing */
  static async load(): Promise<ImageDecoder> {
    const { default: sharp } = await import('sharp').catch((cause: unknown) => {
      const message = 'reading images needs the package sharp (`npm install sharp`)';
      throw new Error(message, { cause });
    });
    sharp.concurrency(1);
    sharp.cache(false);
    sharp.block({ operation: ['VipsForeignLoad'] });
    sharp.unblock({ operation: LOADERS });
    return new ImageDecoder(sharp);
  }

  /**
   * The first frame, turned as its EXIF data says, without other metadata: profiles of color are left
   * out, as Pillow does.
   * @throws ImageError for what is no image, is cut short, or is too large
   */
  async decode(
    file: Uint8Array,
    { maxPixels, maxSeconds }: DecodeLimits,
    transparency: Transparency = 'left out',
  ): Promise<Pixels> {
    numPixels(file, maxPixels);
    const image = this.#open(file, {
      limitInputPixels: maxPixels,
      failOn: 'error',
      ignoreIcc: true,
      sequentialRead: true,
      page: 0,
      pages: 1,
    }).timeout({ seconds: maxSeconds });
    const { space, hasAlpha } = await readable(image.metadata());
    image.autoOrient();
    if (space === 'cmyk') return await decodeInk(image);
    if (hasAlpha && transparency === 'on white') return await decodeOnWhite(image);
    return await decodeLight(image);
  }
}

/**
 * Pixels that an image says it has.
 * @throws ImageError for what is no image, or has more of them than it may, in all or along a side
 */
export function numPixels(file: Uint8Array, maxPixels: number): number {
  const header = readImageHeader(file);
  if (header === null) throw new ImageError('it is no PNG, JPEG, WebP or GIF');
  const { width, height } = header;
  const { imageEdge } = IMAGE_LIMITS;
  if (Math.max(width, height) > imageEdge) {
    throw new ImageError(
      `${width} x ${height} pixels: a side has more than the ${imageEdge} allowed`,
    );
  }
  if (width * height <= maxPixels) return width * height;
  throw new ImageError(`${width} x ${height} pixels are more than the ${maxPixels} allowed`);
}

async function decodeLight(image: Sharp): Promise<Pixels> {
  const made = image.removeAlpha().toColourspace('srgb').raw({ depth: 'uchar' });
  const { data, info } = await readable(made.toBuffer({ resolveWithObject: true }));
  return { width: info.width, height: info.height, data };
}

/** White through what is transparent, by Pillow's `alpha_composite`: in 7 bits behind the point. */
async function decodeOnWhite(image: Sharp): Promise<Pixels> {
  const made = image.toColourspace('srgb').raw({ depth: 'uchar' });
  const { data: seen, info } = await readable(made.toBuffer({ resolveWithObject: true }));
  const { width, height, channels } = info;
  const data = new Uint8Array(width * height * CHANNELS);
  for (let from = 0, into = 0; into < data.length; from += channels) {
    const alpha = seen[from + CHANNELS] ?? 0;
    for (let channel = 0; channel < CHANNELS; channel++) {
      const sum = ((seen[from + channel] ?? 0) * alpha + 255 * (255 - alpha) + 128) << 7;
      data[into++] = (((sum >> 8) + sum) >> 8) >> 7;
    }
  }
  return { width, height, data };
}

/** Four inks become light by Pillow's formula, whatever paper the file means. */
async function decodeInk(image: Sharp): Promise<Pixels> {
  const made = image.pipelineColourspace('cmyk').toColourspace('cmyk').raw({ depth: 'uchar' });
  const { data: inks, info } = await readable(made.toBuffer({ resolveWithObject: true }));
  const { width, height, channels } = info;
  const data = new Uint8Array(width * height * CHANNELS);
  for (let from = 0, into = 0; into < data.length; from += channels) {
    const white = 255 - (inks[from + 3] ?? 0);
    for (let channel = 0; channel < CHANNELS; channel++) {
      const product = (inks[from + channel] ?? 0) * white + 128;
      data[into++] = Math.max(0, white - ((product + (product >> 8)) >> 8));
    }
  }
  return { width, height, data };
}

/** Messages of libvips have no paths, but names of its parts: clients are told less. */
async function readable<T extends Metadata | { readonly info: unknown }>(
  reading: Promise<T>,
): Promise<T> {
  try {
    return await reading;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : '';
    if (/pixel limit/i.test(reason)) throw new ImageError('it has too many pixels', { cause });
    if (/timeout/i.test(reason)) throw new ImageError('it takes too long to decode', { cause });
    throw new ImageError('it is damaged, or cut short', { cause });
  }
}
