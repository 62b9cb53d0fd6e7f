import { createHash } from 'node:crypto';
import { float32ToFloat16 } from '../../model/huggingface/float-conversion.ts';
import type { ImageDecoder, Transparency } from '../../images/decode.ts';
import { ImageError } from '../../images/image-error.ts';
import { cropped, type Preprocessing, resized, toNumbers } from '../../images/preprocess.ts';
import { cutImage, type Cutting } from '../../images/cut-image.ts';
import type { TileGrid } from '../../images/tiles.ts';
import { LIMITS } from '../../limits.ts';

/** Types of numbers that models take images in. */
export const IMAGE_TYPES = ['FP32', 'FP16', 'UINT8'] as const;
export type ImageType = (typeof IMAGE_TYPES)[number];

/** The numbers that a classifier takes. A plain value that crosses processes, as all here. */
export interface NumbersJob {
  readonly file: Uint8Array;
  readonly preprocessing: Preprocessing;
  readonly datatype: ImageType;
  /** Left out if it is not said. */
  readonly transparency?: Transparency;
}

/** The tiles that a model which sees takes. */
export interface TilesJob {
  readonly file: Uint8Array;
  readonly cutting: Cutting;
  /** Whether their pixels are wanted: they may be many times larger than the file. */
  readonly wantsPixels: boolean;
}

export type ImageJob = NumbersJob | TilesJob;

/** FP16 as raw 16-bit patterns. */
export type ImageData =
  | Float32Array<ArrayBuffer>
  | Uint16Array<ArrayBuffer>
  | Uint8Array<ArrayBuffer>;

/** An image's tiles in their order. */
export interface ReadTiles extends TileGrid {
  /** SHA-256 of each one's pixels, and of the grid of an image that is one tile. */
  readonly hashes: readonly string[];
  /** Bytes of each, see cutImage; empty where they are not wanted. */
  readonly pixels: readonly Uint8Array[];
}

/** Errors lose their class between processes. */
export type ImageAnswer<Result> =
  | { readonly type: 'done'; readonly result: Result }
  | { readonly type: 'refused'; readonly message: string };

export async function runImageJob(
  decoder: ImageDecoder,
  job: ImageJob,
): Promise<ImageAnswer<ImageData | ReadTiles>> {
  try {
    const result =
      'cutting' in job ? await readTiles(decoder, job) : await readNumbers(decoder, job);
    return { type: 'done', result };
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    return { type: 'refused', message: error.message };
  }
}

const LIMITS_OF_DECODING = {
  maxPixels: LIMITS.imagePixels,
  maxSeconds: LIMITS.imageMs / 1000,
};

async function readNumbers(
  decoder: ImageDecoder,
  { file, preprocessing, datatype, transparency }: NumbersJob,
): Promise<ImageData> {
  const image = await decoder.decode(file, LIMITS_OF_DECODING, transparency);
  const part = cropped(resized(image, preprocessing, LIMITS.imagePixels), preprocessing);
  return inType(toNumbers(part, preprocessing), datatype);
}

async function readTiles(
  decoder: ImageDecoder,
  { file, cutting, wantsPixels }: TilesJob,
): Promise<ReadTiles> {
  const image = await decoder.decode(file, LIMITS_OF_DECODING, 'on white');
  const { tiles, ...told } = cutImage(image, cutting);
  const { rows, columns } = told;
  // The same patches may lie in another grid.
  const isInCells = cutting.kind === 'grid' || cutting.kind === 'lines';
  const grid = isInCells ? `${rows}x${columns}` : '';
  const hashes = tiles.map(({ data }) =>
    createHash('sha256').update(grid).update(data).digest('hex'),
  );
  return { ...told, hashes, pixels: wantsPixels ? tiles.map(({ data }) => data) : [] };
}

function inType(numbers: Float32Array<ArrayBuffer>, datatype: ImageType): ImageData {
  switch (datatype) {
    case 'FP32':
      return numbers;
    case 'FP16':
      return new Uint16Array(float32ToFloat16(numbers));
    case 'UINT8':
      return Uint8Array.from(Uint8ClampedArray.from(numbers));
  }
}
