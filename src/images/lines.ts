/**
 * Prepares images as Transformers' processor of Pixtral does, the one that resizes with Pillow: they keep their
 * shape, and their size up to that of the longer side.
 */
import { ImageError } from './image-error.ts';
import { type Cells, cellsOf } from './patches.ts';
import type { Pixels } from './pixels.ts';
import type { Size } from './preprocess.ts';
import type { CutImage, TileGrid } from './tiles.ts';

/** How images become lines of cells; a plain value that crosses threads. */
export interface Lining extends Cells {
  /** Pixels that the longer side has at most, before it is made whole cells. */
  readonly longestEdge: number;
  /** Cells of an image; one that has more is made smaller until it has no more. */
  readonly maxCells: number;
}

/**
 * Cells of an image of that size: known before anything is decoded.
 * @throws ImageError for one that is too long for its width
 */
export function lineGrid(size: Size, lining: Lining): TileGrid {
  const { patchSide, merge, maxCells } = lining;
  const cell = patchSide * merge;
  let longestEdge = lining.longestEdge;
  for (;;) {
    const { rows, columns } = gridWithin(size, longestEdge, cell);
    if (rows === 0 || columns === 0) {
      throw new ImageError(`an image of ${size.width} x ${size.height} is too long to be resized`);
    }
    if (rows * columns <= maxCells) return { rows, columns };
    longestEdge = (Math.max(rows, columns) - 1) * cell;
  }
}

/** No rows or columns for an image that is less than a pixel wide then. */
function gridWithin({ width, height }: Size, longestEdge: number, cell: number): TileGrid {
  // In the order of the original's operations: another one rounds otherwise.
  const ratio = Math.max(height / longestEdge, width / longestEdge);
  const within = (side: number) => (ratio > 1 ? Math.floor(side / ratio) : side);
  const cells = (side: number) => Math.floor((side - 1) / cell) + 1;
  return { rows: cells(within(height)), columns: cells(within(width)) };
}

/**
 * @returns as cellsOf
 * @throws ImageError as lineGrid
 */
export function cutLines(image: Pixels, lining: Lining): CutImage {
  return cellsOf(image, lineGrid(image, lining), lining);
}
