/** From an image to the numbers that a model takes, as its training had them. */
import { centerCrop, type CropRounding } from './center-crop.ts';
import { ImageError } from './image-error.ts';
import { CHANNELS, type Pixels } from './pixels.ts';
import { resize, type Resample } from './resize.ts';

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Steps in their order; null leaves one out. A plain value that crosses threads. */
export interface Preprocessing {
  /** Length of the shorter side, which keeps the shape, or both. */
  readonly resize: number | Size | null;
  readonly resample: Resample;
  readonly crop: Size | null;
  readonly cropRounding?: CropRounding;
  readonly rescale: number;
  readonly mean: readonly number[];
  readonly std: readonly number[];
  readonly channels: 'rgb' | 'bgr';
  readonly layout: 'NCHW' | 'NHWC';
}

/**
 * @param maxPixels that the image may have after it is resized
 * @throws ImageError for an image that gets more: it is much longer than it is wide
 */
export function resized(
  image: Pixels,
  { resize: to, resample }: Pick<Preprocessing, 'resize' | 'resample'>,
  maxPixels: number,
): Pixels {
  if (to === null) return image;
  const { width, height } = typeof to === 'number' ? withShorterSide(image, to) : to;
  if (width * height > maxPixels) {
    const shape = `${image.width} x ${image.height}`;
    throw new ImageError(`an image of ${shape} is too long to be resized`);
  }
  return resize(image, width, height, resample);
}

/** As torchvision and Transformers round the longer side. */
function withShorterSide({ width, height }: Size, shorter: number): Size {
  return width <= height
    ? { width: shorter, height: Math.trunc((shorter * height) / width) }
    : { width: Math.trunc((shorter * width) / height), height: shorter };
}

/** The part that is kept. */
export function cropped(image: Pixels, { crop, cropRounding }: Preprocessing): Pixels {
  return crop === null ? image : centerCrop(image, crop.width, crop.height, cropRounding);
}

/** Numbers of a model's input, one image's. */
export function toNumbers(
  { width, height, data }: Pixels,
  { rescale, mean, std, channels, layout }: Preprocessing,
): Float32Array<ArrayBuffer> {
  const area = width * height;
  const numbers = new Float32Array(area * CHANNELS);
  const [ofPixel, ofChannel] = layout === 'NHWC' ? [CHANNELS, 1] : [1, area];
  for (let channel = 0; channel < CHANNELS; channel++) {
    const from = channels === 'rgb' ? channel : CHANNELS - 1 - channel;
    // A byte has 256 values.
    const table = Float32Array.from(
      { length: 256 },
      (_, value) => (value * rescale - (mean[channel] ?? 0)) / (std[channel] ?? 1),
    );
    const into = channel * ofChannel;
    for (let pixel = 0; pixel < area; pixel++) {
      numbers[into + pixel * ofPixel] = table[data[pixel * CHANNELS + from] ?? 0] ?? 0;
    }
  }
  return numbers;
}
