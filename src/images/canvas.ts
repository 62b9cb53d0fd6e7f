/**
 * Cuts images into square tiles as Transformers' processor of InternVL does, the one that resizes with Pillow: onto
 * the canvas of whole tiles whose shape is the nearest, and seen once more as one.
 */
import type { Pixels } from './pixels.ts';
import type { Size } from './preprocess.ts';
import { resize, type Resample } from './resize.ts';
import { type CutImage, tileAt, type TileGrid } from './tiles.ts';

/** How images are cut; a plain value that crosses threads. */
export interface Canvasing {
  /** Pixels of each side of a tile. */
  readonly tileSide: number;
  /** Tiles of a canvas. */
  readonly minTiles: number;
  readonly maxTiles: number;
  readonly resample: Resample;
}

/** The tiles that an image of that size is cut into, besides the whole: known before anything is decoded. */
export function canvasGrid({ width, height }: Size, canvasing: Canvasing): TileGrid {
  const { tileSide } = canvasing;
  const ratio = width / height;
  let nearest = Infinity;
  let best: TileGrid = { rows: 1, columns: 1 };
  for (const grid of canvases(canvasing)) {
    const { rows, columns } = grid;
    const distance = Math.abs(ratio - columns / rows);
    // The one with more tiles of two that are as near, while the image fills half of it.
    const fills = width * height > 0.5 * tileSide * tileSide * columns * rows;
    if (distance < nearest || (distance === nearest && fills)) best = grid;
    nearest = Math.min(nearest, distance);
  }
  return best.rows * best.columns === 1 ? { rows: 0, columns: 0 } : best;
}

/** @param image one whose pixels are bounded; it takes those of the tiles, and as many again */
export function cutCanvas(image: Pixels, canvasing: Canvasing): CutImage {
  const { tileSide, resample } = canvasing;
  const { rows, columns } = canvasGrid(image, canvasing);
  const whole = resize(image, tileSide, tileSide, resample);
  if (rows === 0) return { tiles: [whole], rows, columns };
  const canvas = resize(image, columns * tileSide, rows * tileSide, resample);
  const tiles = Array.from({ length: rows * columns }, (_, tile) =>
    tileAt(canvas, Math.floor(tile / columns), tile % columns, tileSide),
  );
  return { tiles: [...tiles, whole], rows, columns };
}

/** Those with the fewest tiles first, of as many the narrower first. */
function canvases({ minTiles, maxTiles }: Canvasing): TileGrid[] {
  const grids: TileGrid[] = [];
  for (let columns = 1; columns <= maxTiles; columns++) {
    for (let rows = 1; columns * rows <= maxTiles; rows++) {
      if (columns * rows >= minTiles) grids.push({ rows, columns });
    }
  }
  return grids.toSorted((a, b) => a.rows * a.columns - b.rows * b.columns);
}
