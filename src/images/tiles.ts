/**
 * Cuts images into square tiles as Transformers' processors of Idefics 3 and SmolVLM do, those that
 * resize with Pillow: the image is resized to whole tiles, and seen once more as one.
 */
import { CHANNELS, type Pixels } from './pixels.ts';
import type { Size } from './preprocess.ts';
import { resize, type Resample } from './resize.ts';

/** How images are cut; a plain value that crosses threads. */
export interface Tiling {
  /** Pixels of the longer side that every image is resized to. */
  readonly longestEdge: number;
  /** Pixels of each side of a tile. */
  readonly tileSide: number;
  /** Whether there are tiles besides the whole image. */
  readonly splits: boolean;
  readonly resample: Resample;
}

export interface Lines {
  readonly rows: number;
  readonly columns: number;
}

/** Tiles of an image before the one that shows all of it: none where there is that one alone. */
export interface TileGrid extends Lines {
  /** The image's part of their tokens, in the middle, where tiles have margins. */
  readonly shown?: Lines;
  /** Tokens that those are scaled to, where they are too many. */
  readonly scaled?: Lines;
}

export interface CutImage extends TileGrid {
  /** Row by row, and last the whole image. */
  readonly tiles: readonly Pixels[];
}

/** No image becomes longer, whatever `longestEdge` is. */
const MAX_EDGE = 4096;

/** The tiles that an image of that size is cut into: known before anything is decoded. */
export function tileGrid(size: Size, tiling: Tiling): TileGrid {
  const { tileSide } = tiling;
  if (!tiling.splits) return { rows: 0, columns: 0 };
  const { width, height } = inWholeTiles(withLongestEdge(size, tiling), tileSide);
  if (width <= tileSide && height <= tileSide) return { rows: 0, columns: 0 };
  return { rows: height / tileSide, columns: width / tileSide };
}

/** @param image one whose pixels are bounded; it takes as many again, and those of the tiles */
export function cutTiles(image: Pixels, tiling: Tiling): CutImage {
  const { tileSide, resample } = tiling;
  const to = (from: Pixels, { width, height }: Size) => resize(from, width, height, resample);
  const { rows, columns } = tileGrid(image, tiling);
  const long = to(image, withLongestEdge(image, tiling));
  const whole = tiling.splits ? to(long, inWholeTiles(long, tileSide)) : long;
  const tiles: Pixels[] = [];
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      tiles.push(tileAt(whole, row, column, tileSide));
    }
  }
  tiles.push(to(whole, { width: tileSide, height: tileSide }));
  return { tiles, rows, columns };
}

/** Keeps the shape, but for what makes the shorter side even. */
function withLongestEdge(size: Size, { longestEdge }: Tiling): Size {
  const made = scaled(size, longestEdge, (side) => Math.max(1, side + (side % 2)));
  if (Math.max(made.width, made.height) <= MAX_EDGE) return made;
  return scaled(made, MAX_EDGE, (side) => Math.max(1, side));
}

function inWholeTiles({ width, height }: Size, tileSide: number): Size {
  const whole = (side: number) => Math.ceil(side / tileSide) * tileSide;
  return scaled({ width, height }, whole(Math.max(width, height)), whole);
}

/** @param round of the shorter side, after its fraction is cut off */
function scaled({ width, height }: Size, longer: number, round: (side: number) => number): Size {
  // In the order of the original's operations: another one rounds otherwise.
  const ratio = width / height;
  return width >= height
    ? { width: longer, height: round(Math.trunc(longer / ratio)) }
    : { width: round(Math.trunc(longer * ratio)), height: longer };
}

/** The square of a row and a column of such squares. */
export function tileAt({ width, data }: Pixels, row: number, column: number, side: number): Pixels {
  const tile = new Uint8Array(side * side * CHANNELS);
  for (let y = 0; y < side; y++) {
    const from = ((row * side + y) * width + column * side) * CHANNELS;
    tile.set(data.subarray(from, from + side * CHANNELS), y * side * CHANNELS);
  }
  return { width: side, height: side, data: tile };
}
