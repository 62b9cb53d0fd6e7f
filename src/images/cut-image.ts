/** How models see images: as tiles, as patches of an image of about its own size, and as a square or the middle one. */
import { IMAGE_LIMITS } from '../image-limits.ts';
import { type Anyres, cutAnyres } from './anyres.ts';
import { type Canvasing, cutCanvas } from './canvas.ts';
import { centerCrop } from './center-crop.ts';
import { cutLines, type Lining } from './lines.ts';
import { cutPatches, type Patching } from './patches.ts';
import type { Pixels } from './pixels.ts';
import { resized } from './preprocess.ts';
import { resize, type Resample } from './resize.ts';
import { type CutImage, cutTiles, type Tiling } from './tiles.ts';

export type Cutting =
  | TileCutting
  | CanvasCutting
  | AnyresCutting
  | GridCutting
  | LineCutting
  | SquareCutting
  | CropCutting;

export interface TileCutting extends Tiling {
  readonly kind: 'tiles';
}

export interface CanvasCutting extends Canvasing {
  readonly kind: 'canvas';
}

export interface AnyresCutting extends Anyres {
  readonly kind: 'anyres';
}

export interface GridCutting extends Patching {
  readonly kind: 'grid';
}

export interface LineCutting extends Lining {
  readonly kind: 'lines';
}

/** The image is resized to a square, whatever its shape. */
export interface SquareCutting {
  readonly kind: 'square';
  /** Pixels of each side. */
  readonly side: number;
  readonly resample: Resample;
}

/** The shape is kept, and the square in the middle is seen. */
export interface CropCutting {
  readonly kind: 'crop';
  /** Pixels of the shorter side that every image is resized to. */
  readonly shortestEdge: number;
  /** Pixels of each side of the square, as many at most. */
  readonly side: number;
  readonly resample: Resample;
}

/** Cells of an image of which little is to be seen, where its size says how many there are. */
const FEW_CELLS = 256;

/** @throws ImageError for one that is too long for its width */
export function cutImage(image: Pixels, cutting: Cutting): CutImage {
  switch (cutting.kind) {
    case 'tiles':
      return cutTiles(image, cutting);
    case 'canvas':
      return cutCanvas(image, cutting);
    case 'anyres':
      return cutAnyres(image, cutting);
    case 'grid':
      return cutPatches(image, cutting);
    case 'lines':
      return cutLines(image, cutting);
    case 'square': {
      const { side, resample } = cutting;
      return { tiles: [resize(image, side, side, resample)], rows: 0, columns: 0 };
    }
    case 'crop': {
      const { side, resample, shortestEdge } = cutting;
      const { imagePixels } = IMAGE_LIMITS;
      const whole = resized(image, { resize: shortestEdge, resample }, imagePixels);
      return { tiles: [centerCrop(whole, side, side, 'down')], rows: 0, columns: 0 };
    }
  }
}

/** The same for an image of which little is to be seen: one tile, or few cells; a square stays as it is. */
export function inLowDetail(cutting: Cutting): Cutting {
  if (cutting.kind === 'square' || cutting.kind === 'crop') return cutting;
  if (cutting.kind === 'canvas') return { ...cutting, minTiles: 1, maxTiles: 1 };
  if (cutting.kind === 'tiles' || cutting.kind === 'anyres') return { ...cutting, splits: false };
  return withCells(cutting, FEW_CELLS);
}

/** The same for an image that is one of several in a prompt: most models see it as they see one alone. */
export function amongOthers(cutting: Cutting): Cutting {
  if (cutting.kind !== 'anyres' || cutting.margins === undefined) return cutting;
  return { ...cutting, splits: false, isSquared: true };
}

/** The same for images of at most so many cells. */
export function withCells(
  cutting: GridCutting | LineCutting,
  cells: number,
): GridCutting | LineCutting {
  if (cutting.kind === 'lines') {
    return { ...cutting, maxCells: Math.min(cutting.maxCells, cells) };
  }
  return withGridCells(cutting, cells);
}

function withGridCells(patching: GridCutting, cells: number): GridCutting {
  const { patchSide, merge } = patching;
  const maxPixels = Math.min(patching.maxPixels, cells * (merge * patchSide) ** 2);
  return { ...patching, maxPixels, minPixels: Math.min(patching.minPixels, maxPixels) };
}
