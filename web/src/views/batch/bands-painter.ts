/** Paints around the rows: the axis of time, the steps' times above, the KV cache below, titles. */
import { formatMs, formatShare } from '../../format.ts';
import type { Palette } from './palette.ts';
import type { Column } from './column.ts';
import { bandsOf, numVisibleRows, shownSpan, type Viewport, xOf } from './viewport.ts';

type Context = CanvasRenderingContext2D;

/** Scales of the two bands, in which all that is in sight fits. */
export interface BandScales {
  readonly stepMs: number;
  /** Share of the KV cache at the top of its band. */
  readonly memoryShare: number;
}

export function scalesOf(columns: readonly Column[]): BandScales {
  let [stepMs, share] = [1, 0.001];
  for (const { event } of columns) {
    const [, total, running, kept] = event.pages;
    stepMs = Math.max(stepMs, event.ms, event.predicted_ms);
    share = Math.max(share, (running + kept) / Math.max(1, total));
  }
  return { stepMs: niceAbove(stepMs), memoryShare: Math.min(1, niceAbove(share)) };
}

/** The next of 1, 2, 5, 10, ... */
export function niceAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const found = [1, 2, 5, 10].find((factor) => factor * power >= value * 0.999) ?? 10;
  return Number((power * found).toPrecision(6));
}

export interface Paint {
  readonly view: Viewport;
  readonly palette: Palette;
  readonly scales: BandScales;
}

/** A step's time, a line where the cost model expected it to end, and its memory. */
export function paintBands(context: Context, column: Column, paint: Paint): void {
  const { view, palette, scales } = paint;
  const { event } = column;
  const { stripTop, stripHeight, memoryTop, memoryHeight } = bandsOf(view);
  const x = xOf(view, column.from);
  const full = Math.max(1, xOf(view, column.to) - x);
  const width = full >= 4 * view.ratio ? full - Math.max(1, Math.round(view.ratio)) : full;
  const heightOf = (ms: number) =>
    Math.min(stripHeight, Math.round((stripHeight * ms) / scales.stepMs));
  const line = Math.max(1, Math.round(1.5 * view.ratio));
  const took = heightOf(event.ms);
  const bottom = stripTop + stripHeight;
  fill(context, palette.inks.step, x, bottom - took, width, took);
  const expected = Math.max(stripTop, bottom - heightOf(event.predicted_ms) - line);
  fill(context, palette.inks.predicted, x, expected, width, line);

  const [, total, running, kept] = event.pages;
  const pixelsOf = (pages: number) =>
    Math.min(
      memoryHeight,
      Math.round((memoryHeight * pages) / Math.max(1, total) / scales.memoryShare),
    );
  const [used, keptHeight] = [pixelsOf(running), pixelsOf(kept)];
  const floor = memoryTop + memoryHeight;
  fill(context, palette.inks.lane, x, memoryTop, full, memoryHeight);
  fill(context, palette.marks.decode, x, floor - used, full, used);
  fill(context, palette.marks.cached, x, floor - used - keptHeight, full, keptHeight);
}

/** Lines through all rows: time that was cut out, a crash, steps that are missing. */
export function paintBreaks(context: Context, column: Column, { view, palette }: Paint): void {
  const line = Math.max(1, Math.round(view.ratio));
  const x = xOf(view, column.from) - line;
  if (column.lostBefore > 0 || column.isRecovered) {
    const color = column.isRecovered ? palette.marks.failed : palette.inks.lost;
    fill(context, color, x, 0, line, view.height);
  } else if (column.cutMs > 0) {
    const { stripTop } = bandsOf(view);
    for (let y = stripTop; y < view.height; y += 8 * line) {
      fill(context, palette.inks.text, x, y, line, 3 * line);
    }
  }
}

/** The axis of time, with a label at every so many pixels. */
export function paintAxis(
  context: Context,
  { view, palette }: Paint,
  columns: readonly Column[],
): void {
  const { axisHeight, gutter } = bandsOf(view);
  const [from, to] = shownSpan(view);
  fill(context, palette.inks.surface, gutter, 0, view.width - gutter, axisHeight);
  setFont(context, view, 'center');
  context.fillStyle = palette.inks.text;
  const apart = niceAbove((90 * view.ratio) / view.scale);
  const middle = Math.round(axisHeight / 2);
  for (let time = Math.max(0, Math.ceil(from / apart) * apart); time <= to; time += apart) {
    const x = xOf(view, time);
    if (x < gutter + 24 * view.ratio || x > view.width - 24 * view.ratio) continue;
    context.fillText(formatMs(time).replace(/^0 .*/, '0 s'), x, middle);
    context.fillRect(x, axisHeight - 3, 1, 3);
  }
  for (const { cutMs, from: at } of columns) {
    if (cutMs < 1000) continue;
    const x = xOf(view, at);
    const words = `idle ${formatMs(cutMs)}`;
    const width = context.measureText(words).width + 8;
    fill(context, palette.inks.surface, x - width / 2, 0, width, axisHeight - 3);
    context.fillStyle = palette.inks.text;
    context.fillText(words, x, middle);
  }
}

/** Titles of the bands, their scales, and names of rows. */
export function paintGutter(context: Context, { view, palette, scales }: Paint, numRows: number) {
  const { gutter, stripTop, stripHeight, rowsTop, rowsHeight, memoryTop, memoryHeight } =
    bandsOf(view);
  const { rowHeight, topRow, ratio, height, mode } = view;
  const { inks } = palette;
  fill(context, inks.surface, 0, 0, gutter - 1, height);
  fill(context, inks.line, gutter - 1, 0, 1, height);
  context.fillStyle = inks.text;
  setFont(context, view, 'right');
  const x = gutter - Math.round(6 * ratio);
  const edge = Math.round(6 * ratio);
  context.fillText('time', x, Math.round(11 * ratio));
  context.fillText(formatMs(scales.stepMs), x, stripTop + edge);
  context.fillText('0', x, stripTop + stripHeight - edge);
  context.fillText(formatShare(scales.memoryShare), x, memoryTop + edge);
  context.fillText('0', x, memoryTop + memoryHeight - edge);
  if (mode === 'slots') {
    const every = Math.max(1, Math.ceil((13 * ratio) / rowHeight));
    for (let row = 0; row < numVisibleRows(view); row++) {
      const slot = topRow + row;
      if (slot >= numRows || slot % every !== 0) continue;
      context.fillText(String(slot), x, rowsTop + (row + 0.5) * rowHeight);
    }
  }
  setFont(context, view, 'center');
  upright(context, 'step', edge + ratio, stripTop + stripHeight / 2);
  upright(context, mode === 'slots' ? 'slots' : 'requests', edge + ratio, rowsTop + rowsHeight / 2);
  upright(context, 'KV', edge + ratio, memoryTop + memoryHeight / 2);
}

/** Every fourth row is a little darker, so that the eye can follow one. */
export function paintRows(context: Context, { view, palette }: Paint, x: number, numRows: number) {
  const { rowsTop } = bandsOf(view);
  const { rowHeight, topRow, ratio, width } = view;
  if (rowHeight < 4 * ratio) return;
  const shown = Math.min(numVisibleRows(view), Math.max(0, numRows - topRow));
  for (let row = 0; row < shown; row++) {
    if ((topRow + row) % 4 !== 0) continue;
    fill(context, palette.inks.lane, x, rowsTop + row * rowHeight, width - x, rowHeight);
  }
}

/** Rows that reach below theirs are cut off there. */
export function clearBelowRows(context: Context, { view, palette }: Paint, x: number): void {
  const { rowsTop, rowsHeight } = bandsOf(view);
  const top = rowsTop + rowsHeight;
  fill(context, palette.inks.surface, x, top, view.width - x, view.height - top);
}

export function setFont(context: Context, { ratio }: Viewport, align: CanvasTextAlign): void {
  context.font = `${Math.round(11 * ratio)}px system-ui, sans-serif`;
  context.textAlign = align;
  context.textBaseline = 'middle';
}

export function fill(
  context: Context,
  color: string,
  x: number,
  y: number,
  width: number,
  height: number,
): void {
  if (width <= 0 || height <= 0) return;
  context.fillStyle = color;
  context.fillRect(x, y, width, height);
}

function upright(context: Context, text: string, x: number, y: number): void {
  context.save();
  context.translate(x, y);
  context.rotate(-Math.PI / 2);
  context.fillText(text, 0, 0);
  context.restore();
}
