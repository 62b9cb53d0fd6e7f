/**
 * Cuts images into square tiles as Transformers' processors of LLaVA-NeXT and LLaVA-OneVision do, those that resize
 * with Pillow: in their own shape onto the one of several canvases that shows the most of them, and seen once more as
 * one.
 */
import { CHANNELS, type Color, type Pixels } from './pixels.ts';
import type { Size } from './preprocess.ts';
import { type Filtering, resize, resizeSquare } from './resize.ts';
import { type CutImage, type Lines, tileAt, type TileGrid } from './tiles.ts';

/** How images are cut; a plain value that crosses threads. */
export interface Anyres {
  /** Pixels of each side of a tile. */
  readonly tileSide: number;
  /** Tokens along each side of a tile. */
  readonly cells: number;
  /** Canvases in their order, in whole tiles; at least one. */
  readonly canvases: readonly TileGrid[];
  /** Whether there are tiles besides the whole image. */
  readonly splits: boolean;
  readonly resample: Filtering;
  /** As many tiles' tokens are shown of an image, besides those of the whole; left out where there is no such bound. */
  readonly maxTiles?: number;
  /** Color around an image that is one of several, which are squares without tiles; left out where they are not. */
  readonly margins?: Color;
  /** Whether the whole is such a square. */
  readonly isSquared?: true;
}

/** The tiles of an image besides the whole, and its part of their tokens: known before anything is decoded. */
export function anyresGrid(size: Size, anyres: Anyres): TileGrid {
  if (!anyres.splits) return { rows: 0, columns: 0, shown: { rows: 0, columns: 0 } };
  const { rows, columns } = bestCanvas(size, anyres);
  const shown = shownCells(size, rows * anyres.cells, columns * anyres.cells);
  const scaled = scaledCells(shown, anyres);
  return { rows, columns, shown, ...(scaled && { scaled }) };
}

/** @param image one whose pixels are bounded; it takes those of the tiles, and twice as many again */
export function cutAnyres(image: Pixels, anyres: Anyres): CutImage {
  const { tileSide, resample, margins, isSquared } = anyres;
  const whole =
    isSquared && margins !== undefined
      ? resizeSquare(image, tileSide, resample, margins)
      : resize(image, tileSide, tileSide, resample);
  const grid = anyresGrid(image, anyres);
  const { rows, columns } = grid;
  if (rows === 0) return { tiles: [whole], ...grid };
  const canvas = onCanvas(image, { width: columns * tileSide, height: rows * tileSide }, resample);
  const tiles = Array.from({ length: rows * columns }, (_, tile) =>
    tileAt(canvas, Math.floor(tile / columns), tile % columns, tileSide),
  );
  return { tiles: [...tiles, whole], ...grid };
}

/** The one on which the most of an image's pixels are seen; of as many, the one with the fewest pixels. */
function bestCanvas({ width, height }: Size, { canvases, tileSide }: Anyres): TileGrid {
  let best: TileGrid = { rows: 1, columns: 1 };
  let most = 0;
  let least = Infinity;
  for (const canvas of canvases) {
    const [wide, high] = [canvas.columns * tileSide, canvas.rows * tileSide];
    const scale = Math.min(wide / width, high / height);
    const seen = Math.min(Math.trunc(width * scale) * Math.trunc(height * scale), width * height);
    const wasted = wide * high - seen;
    if (seen > most || (seen === most && wasted < least)) {
      [best, most, least] = [canvas, seen, wasted];
    }
  }
  return best;
}

/** Tokens of a canvas without those of its margins alone; an image that is nearly a line may have none. */
function shownCells({ width, height }: Size, rows: number, columns: number): Lines {
  const isWider = width / height > columns / rows;
  if (isWider) return { rows: withoutMargins(rows, height * (columns / width)), columns };
  return { rows, columns: withoutMargins(columns, width * (rows / height)) };
}

/** Both margins are as wide. */
function withoutMargins(all: number, shown: number): number {
  // A number that is whole but for rounding is whole, as in the original.
  const whole = Math.trunc(Math.round(shown * 1e7) / 1e7);
  return all - 2 * Math.floor((all - whole) / 2);
}

/** Fewer of about the same shape, where there are more than a few above the bound. */
function scaledCells({ rows, columns }: Lines, { cells, maxTiles = Infinity }: Anyres) {
  const ratio = Math.sqrt((rows * columns) / (maxTiles * cells ** 2));
  if (ratio <= 1.1) return undefined;
  return { rows: wholeTimes(rows, ratio), columns: wholeTimes(columns, ratio) };
}

/** How many times one number is in another, as Python's `//` finds it. */
function wholeTimes(all: number, part: number): number {
  return Math.round((all - (all % part)) / part);
}

/** In its own shape, in the middle of black. */
function onCanvas(image: Pixels, { width, height }: Size, resample: Filtering): Pixels {
  const [across, down] = [width / image.width, height / image.height];
  const isWider = across < down;
  const wide = isWider ? width : Math.min(Math.ceil(image.width * down), width);
  const high = isWider ? Math.min(Math.ceil(image.height * across), height) : height;
  const seen = resize(image, wide, high, resample);
  const data = new Uint8Array(width * height * CHANNELS);
  const [left, top] = [Math.floor((width - wide) / 2), Math.floor((height - high) / 2)];
  for (let y = 0; y < high; y++) {
    const from = y * wide * CHANNELS;
    const row = seen.data.subarray(from, from + wide * CHANNELS);
    data.set(row, ((top + y) * width + left) * CHANNELS);
  }
  return { width, height, data };
}
