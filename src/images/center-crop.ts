import { CHANNELS, type Pixels } from './pixels.ts';

/**
 * Treatment of a middle between two pixels: as torchvision has it, or the one further up and to the left, as
 * Transformers does.
 */
export type CropRounding = 'half to even' | 'down';

/** The middle of an image; where the image is smaller, black is around it. */
export function centerCrop(
  image: Pixels,
  width: number,
  height: number,
  rounding: CropRounding = 'half to even',
): Pixels {
  const [left, intoLeft] = placesOf(image.width, width, rounding);
  const [top, intoTop] = placesOf(image.height, height, rounding);
  const data = new Uint8Array(width * height * CHANNELS);
  const columns = Math.min(width, image.width);
  for (let row = 0; row < Math.min(height, image.height); row++) {
    const from = ((top + row) * image.width + left) * CHANNELS;
    const pixels = image.data.subarray(from, from + columns * CHANNELS);
    data.set(pixels, ((intoTop + row) * width + intoLeft) * CHANNELS);
  }
  return { width, height, data };
}

/** Where along one axis the part begins that is kept, and where it is put. */
function placesOf(
  size: number,
  wanted: number,
  rounding: CropRounding,
): [from: number, into: number] {
  if (size < wanted) return [0, Math.trunc((wanted - size) / 2)];
  const middle = (size - wanted) / 2;
  return [rounding === 'down' ? Math.floor(middle) : roundToEven(middle), 0];
}

/** Python's `round`. */
function roundToEven(value: number): number {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}
