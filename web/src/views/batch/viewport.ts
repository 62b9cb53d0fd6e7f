/** Where what is drawn. All lengths are in pixels of the device. */
import type { Cell } from './cell.ts';

export interface Viewport {
  readonly instance: number;
  /** One more than the index of the last column: that is at the right edge. */
  readonly end: number;
  readonly columnWidth: number;
  readonly laneHeight: number;
  readonly topLane: number;
  readonly width: number;
  readonly height: number;
  /** Device pixels of a CSS pixel. */
  readonly ratio: number;
}

/** Of CSS pixels. */
const STRIP = 72;
const MEMORY = 44;
const GUTTER = 56;
const GAP = 8;

/** Widths of a column, and heights of a lane, in CSS pixels. */
export const COLUMN_WIDTHS = [2, 4, 6, 10, 16, 26] as const;
const LANE_HEIGHTS = [2, 3, 4, 6, 8, 12, 16, 22, 30] as const;

export interface Bands {
  /** Left of the columns. */
  readonly gutter: number;
  readonly stripHeight: number;
  readonly lanesTop: number;
  readonly lanesHeight: number;
  readonly memoryTop: number;
  readonly memoryHeight: number;
}

export function bandsOf({ height, ratio }: Viewport): Bands {
  const px = (css: number) => Math.round(css * ratio);
  const lanesTop = px(STRIP + GAP);
  const memoryTop = height - px(MEMORY);
  return {
    gutter: px(GUTTER),
    stripHeight: px(STRIP),
    lanesTop,
    lanesHeight: Math.max(0, memoryTop - px(GAP) - lanesTop),
    memoryTop,
    memoryHeight: px(MEMORY),
  };
}

/** The largest with which all lanes fit; else the smallest. */
export function fittingLaneHeight(numLanes: number, height: number, ratio: number): number {
  const room = Math.max(0, height / ratio - STRIP - MEMORY - 2 * GAP);
  const fitting = LANE_HEIGHTS.findLast((each) => each * numLanes <= room) ?? LANE_HEIGHTS[0];
  return Math.round(fitting * ratio);
}

/** Columns that fit, one more for the one that is cut off. */
export function numVisible(view: Viewport): number {
  return Math.ceil((view.width - bandsOf(view).gutter) / view.columnWidth);
}

export function numVisibleLanes(view: Viewport): number {
  return Math.ceil(bandsOf(view).lanesHeight / view.laneHeight);
}

/** The left edge of a column. */
export function columnX({ width, end, columnWidth }: Viewport, index: number): number {
  return width - (end - index) * columnWidth;
}

/** Between columns and lanes there is a pixel, where they are not tiny. */
export function cellBox(view: Viewport, index: number, { slot }: Pick<Cell, 'slot'>) {
  const { columnWidth, laneHeight, topLane, ratio } = view;
  const gap = (length: number) => (length >= 4 * ratio ? Math.max(1, Math.round(ratio)) : 0);
  return {
    x: columnX(view, index),
    y: bandsOf(view).lanesTop + (slot - topLane) * laneHeight,
    width: columnWidth - gap(columnWidth),
    height: laneHeight - gap(laneHeight),
  };
}

export function isLaneVisible(view: Viewport, slot: number): boolean {
  return slot >= view.topLane && slot < view.topLane + numVisibleLanes(view);
}

/** The column and the lane at a point of the canvas; null beside them. */
export function hit(view: Viewport, x: number, y: number): { index: number; slot: number } | null {
  const { gutter, lanesTop, lanesHeight } = bandsOf(view);
  if (x < gutter || x >= view.width) return null;
  const index = view.end - Math.ceil((view.width - x) / view.columnWidth);
  const isInLanes = y >= lanesTop && y < lanesTop + lanesHeight;
  const slot = isInLanes ? view.topLane + Math.floor((y - lanesTop) / view.laneHeight) : -1;
  return { index, slot };
}
