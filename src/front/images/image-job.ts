import { float32ToFloat16 } from '../../model/huggingface/float-conversion.ts';
import type { ImageDecoder } from '../../images/decode.ts';
import { ImageError } from '../../images/image-error.ts';
import { cropped, type Preprocessing, resized, toNumbers } from '../../images/preprocess.ts';
import { LIMITS } from '../../limits.ts';

/** Types of numbers that models take images in. */
export const IMAGE_TYPES = ['FP32', 'FP16', 'UINT8'] as const;
export type ImageType = (typeof IMAGE_TYPES)[number];

/** A plain value that crosses threads. */
export interface ImageJob {
  readonly file: Uint8Array;
  readonly preprocessing: Preprocessing;
  readonly datatype: ImageType;
}

/** FP16 as raw 16-bit patterns. */
export type ImageData =
  | Float32Array<ArrayBuffer>
  | Uint16Array<ArrayBuffer>
  | Uint8Array<ArrayBuffer>;

/** Errors lose their class between threads. */
export type ImageAnswer =
  | { readonly type: 'done'; readonly data: ImageData }
  | { readonly type: 'refused'; readonly message: string };

export async function runImageJob(
  decoder: ImageDecoder,
  { file, preprocessing, datatype }: ImageJob,
): Promise<ImageAnswer> {
  const maxPixels = LIMITS.imagePixels;
  try {
    const image = await decoder.decode(file, { maxPixels, maxSeconds: LIMITS.imageMs / 1000 });
    const part = cropped(resized(image, preprocessing, maxPixels), preprocessing);
    return { type: 'done', data: inType(toNumbers(part, preprocessing), datatype) };
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    return { type: 'refused', message: error.message };
  }
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
