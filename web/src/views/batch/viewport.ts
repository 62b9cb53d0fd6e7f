/** Where what is drawn. All lengths are in pixels of the device, all times on the picture's clock. */
import type { Cell } from './cell.ts';

/** Rows are requests, or slots of the KV cache. */
export type Mode = 'requests' | 'slots';

export interface Viewport {
  readonly instance: number;
  readonly mode: Mode;
  /** Pixels of a millisecond. */
  readonly scale: number;
  /** Pixels from time 0 to the right edge: a whole number, so that what is drawn can be moved. */
  readonly end: number;
  /** Time at the right edge. A pixel may reach beyond it; what begins later is not shown in it. */
  readonly until: number;
  readonly rowHeight: number;
  readonly topRow: number;
  readonly width: number;
  readonly height: number;
  /** Device pixels of a CSS pixel. */
  readonly ratio: number;
}

/** Sizes in CSS pixels. */
const AXIS = 22;
const STRIP = 52;
const MEMORY = 40;
const GUTTER = 66;
const GAP = 10;

/** CSS pixels of a millisecond. */
export const MIN_SCALE = 0.0005;
export const MAX_SCALE = 30;
export const USUAL_SCALE = 0.3;
export const ZOOM_STEP = 1.6;

const ROW_HEIGHTS = [2, 3, 4, 6, 8, 12, 16, 20, 24] as const;
/** So few rows are not drawn larger. */
const LEAST_ROWS = 8;

export interface Bands {
  /** Left of the picture. */
  readonly gutter: number;
  readonly axisHeight: number;
  readonly stripTop: number;
  readonly stripHeight: number;
  readonly rowsTop: number;
  readonly rowsHeight: number;
  readonly memoryTop: number;
  readonly memoryHeight: number;
}

export function bandsOf({ height, ratio }: Pick<Viewport, 'height' | 'ratio'>): Bands {
  const px = (css: number) => Math.round(css * ratio);
  const stripTop = px(AXIS);
  const rowsTop = stripTop + px(STRIP + GAP);
  const memoryTop = height - px(MEMORY);
  return {
    gutter: px(GUTTER),
    axisHeight: px(AXIS),
    stripTop,
    stripHeight: px(STRIP),
    rowsTop,
    rowsHeight: Math.max(0, memoryTop - px(GAP) - rowsTop),
    memoryTop,
    memoryHeight: px(MEMORY),
  };
}

/** The largest with which all rows fit; else the smallest. */
export function fittingRowHeight(numRows: number, height: number, ratio: number): number {
  const room = bandsOf({ height, ratio }).rowsHeight / ratio;
  const wanted = Math.max(LEAST_ROWS, numRows);
  const fitting = ROW_HEIGHTS.findLast((each) => each * wanted <= room) ?? ROW_HEIGHTS[0];
  return Math.round(fitting * ratio);
}

export function numVisibleRows(view: Viewport): number {
  return Math.ceil(bandsOf(view).rowsHeight / view.rowHeight);
}

export function isRowVisible(view: Viewport, row: number): boolean {
  return row >= view.topRow && row < view.topRow + numVisibleRows(view);
}

export function xOf({ width, end, scale }: Viewport, time: number): number {
  return width - (end - Math.floor(time * scale));
}

export function timeAt({ width, end, scale }: Viewport, x: number): number {
  return (end - width + x) / scale;
}

/** Span of time in sight. */
export function shownSpan(view: Viewport): readonly [from: number, to: number] {
  return [timeAt(view, bandsOf(view).gutter), Math.min(view.until, timeAt(view, view.width))];
}

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Between columns and rows there is a pixel, where they are not tiny. */
export function boxOf(
  view: Viewport,
  { from, to }: { readonly from: number; readonly to: number },
  row: number,
): Box {
  const { rowHeight, topRow, ratio } = view;
  const gap = (length: number) => (length >= 4 * ratio ? Math.max(1, Math.round(ratio)) : 0);
  const x = xOf(view, from);
  const width = Math.max(1, xOf(view, to) - x);
  return {
    x,
    y: bandsOf(view).rowsTop + (row - topRow) * rowHeight,
    width: width - gap(width),
    height: rowHeight - gap(rowHeight),
  };
}

/** The box of a slot in an iteration. */
export function cellBox(
  view: Viewport,
  column: { readonly from: number; readonly to: number },
  { slot }: Pick<Cell, 'slot'>,
): Box {
  return boxOf(view, column, slot);
}

/** The time and the row at a point of the canvas; null next to the picture. */
export function hit(
  view: Viewport,
  x: number,
  y: number,
): { readonly time: number; readonly row: number | null } | null {
  const { gutter, rowsTop, rowsHeight } = bandsOf(view);
  if (x < gutter || x >= view.width) return null;
  const isInRows = y >= rowsTop && y < rowsTop + rowsHeight;
  const row = isInRows ? view.topRow + Math.floor((y - rowsTop) / view.rowHeight) : null;
  return { time: timeAt(view, x), row };
}
