/**
 * Prepares images as Transformers' processor of Qwen2-VL does, the one that resizes with Pillow: they keep
 * about their size and shape, in whole cells of patches, and are seen as patches.
 */
import { MODEL_LIMITS } from '../model-limits.ts';
import { ImageError } from './image-error.ts';
import { CHANNELS, type Pixels } from './pixels.ts';
import type { Size } from './preprocess.ts';
import { resize, type Resample } from './resize.ts';
import type { CutImage, TileGrid } from './tiles.ts';

/** Cells that an image consists of. */
export interface Cells {
  /** Pixels of each side of a patch. */
  readonly patchSide: number;
  /** Patches along each side of a cell, which becomes one token. */
  readonly merge: number;
  readonly resample: Resample;
}

/** How images become patches; a plain value that crosses threads. */
export interface Patching extends Cells {
  /** Pixels that an image has at least and at most when it is resized. */
  readonly minPixels: number;
  readonly maxPixels: number;
}

/** How many times longer than wide an image may be. */
const MAX_RATIO = 200;

/**
 * Cells of an image of that size: known before anything is decoded.
 * @throws ImageError for one that is too long for its width
 */
export function cellGrid(size: Size, patching: Patching): TileGrid {
  const grid = fittingGrid(size, patching);
  // Those of a long image are more than its pixels say, where a cell is large.
  const numPatches = grid.rows * grid.columns * patching.merge ** 2;
  if (numPatches <= MODEL_LIMITS.imagePatches) return grid;
  throw new ImageError(
    `an image of ${size.width} x ${size.height} has ${numPatches} patches; at most ${MODEL_LIMITS.imagePatches} are seen`,
  );
}

function fittingGrid({ width, height }: Size, patching: Patching): TileGrid {
  const { patchSide, merge, minPixels, maxPixels } = patching;
  if (Math.max(width, height) / Math.min(width, height) > MAX_RATIO) {
    throw new ImageError(
      `an image of ${width} x ${height} is more than ${MAX_RATIO} times longer than wide`,
    );
  }
  const cell = patchSide * merge;
  const [rows, columns] = [roundHalfEven(height / cell), roundHalfEven(width / cell)];
  // In the order of the original's operations: another one rounds otherwise.
  const pixels = rows * cell * (columns * cell);
  if (pixels > maxPixels) {
    const shrink = Math.sqrt((height * width) / maxPixels);
    const whole = (side: number) => Math.max(1, Math.floor(side / shrink / cell));
    return { rows: whole(height), columns: whole(width) };
  }
  if (pixels >= minPixels) return { rows, columns };
  const grow = Math.sqrt(minPixels / (height * width));
  const whole = (side: number) => Math.ceil((side * grow) / cell);
  return { rows: whole(height), columns: whole(width) };
}

/**
 * @returns as cellsOf
 * @throws ImageError as cellGrid
 */
export function cutPatches(image: Pixels, patching: Patching): CutImage {
  return cellsOf(image, cellGrid(image, patching), patching);
}

/**
 * @returns the grid of cells, and as one tile all patches one below the other: cell by cell, row by row in
 *   the image and in each
 */
export function cellsOf(
  image: Pixels,
  { rows, columns }: TileGrid,
  { patchSide, merge, resample }: Cells,
): CutImage {
  const cell = patchSide * merge;
  const { width, height, data } = resize(image, columns * cell, rows * cell, resample);
  const patches = new Uint8Array(data.length);
  const bytes = patchSide * CHANNELS;
  let out = 0;
  const copyPatch = (left: number, top: number): void => {
    for (let y = top; y < top + patchSide; y++) {
      const from = (y * width + left) * CHANNELS;
      patches.set(data.subarray(from, from + bytes), out);
      out += bytes;
    }
  };
  for (let top = 0; top < height; top += cell) {
    for (let left = 0; left < width; left += cell) {
      for (let y = 0; y < cell; y += patchSide) {
        for (let x = 0; x < cell; x += patchSide) copyPatch(left + x, top + y);
      }
    }
  }
  const numPatches = rows * columns * merge ** 2;
  const tile: Pixels = { width: patchSide, height: numPatches * patchSide, data: patches };
  return { tiles: [tile], rows, columns };
}

/** As Python's round. */
function roundHalfEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  if (rest !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}
