import { CHANNELS, type Pixels } from './pixels.ts';

/** The middle of an image, as torchvision cuts it; where the image is smaller, black is around it. */
export function centerCrop(image: Pixels, width: number, height: number): Pixels {
  const [left, intoLeft] = placesOf(image.width, width);
  const [top, intoTop] = placesOf(image.height, height);
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
function placesOf(size: number, wanted: number): [from: number, into: number] {
  if (size < wanted) return [0, Math.trunc((wanted - size) / 2)];
  return [roundToEven((size - wanted) / 2), 0];
}

/** Python's `round`. */
function roundToEven(value: number): number {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}
