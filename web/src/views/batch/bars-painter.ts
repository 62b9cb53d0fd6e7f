/** Requests as rows: each is one bar, from its arrival to its last token. */
import {
  clearBelowRows,
  fill,
  type Paint,
  paintAxis,
  paintBands,
  paintBreaks,
  paintGutter,
  paintRows,
  scalesOf,
  setFont,
} from './bands-painter.ts';
import type { Bar } from './bars.ts';
import { barColorsOf, type Palette } from './palette.ts';
import { visibleColumns } from './slots-painter.ts';
import type { Column } from './column.ts';
import type { Timeline } from './timeline.ts';
import {
  bandsOf,
  type Box,
  boxOf,
  isRowVisible,
  shownSpan,
  type Viewport,
  xOf,
} from './viewport.ts';

/** In CSS pixels: narrower than this a bar has no name in it, and a step no edge. */
const NAMED_WIDTH = 46;
const NAMED_HEIGHT = 12;
const STEP_WIDTH = 5;

export class BarsPainter {
  readonly #context: CanvasRenderingContext2D;
  #painted = '';

  constructor(context: CanvasRenderingContext2D) {
    this.#context = context;
  }

  forget(): void {
    this.#painted = '';
  }

  paint(timeline: Timeline, view: Viewport, palette: Palette, numRows: number): void {
    const key = JSON.stringify([view, palette.key, numRows, timeline.version]);
    if (key === this.#painted) return;
    this.#painted = key;
    const context = this.#context;
    const columns = visibleColumns(timeline, view);
    const paint: Paint = { view, palette, scales: scalesOf(columns) };
    fill(context, palette.inks.surface, 0, 0, view.width, view.height);
    paintRows(context, paint, 0, numRows);
    for (const bar of visibleBars(timeline, view)) drawBar(context, bar, columns, paint);
    clearBelowRows(context, paint, 0);
    for (const column of columns) {
      paintBands(context, column, paint);
      paintBreaks(context, column, paint);
    }
    paintAxis(context, paint, columns);
    paintGutter(context, paint, numRows);
  }
}

export function visibleBars(timeline: Timeline, view: Viewport): readonly Bar[] {
  const [from, to] = shownSpan(view);
  return timeline.bars
    .between(view.instance, from, to)
    .filter(({ lane }) => isRowVisible(view, lane));
}

/** Phases differ in lightness and shape too, not in hue alone. */
export function drawBar(
  context: CanvasRenderingContext2D,
  bar: Bar,
  columns: readonly Column[],
  { view, palette }: Paint,
): void {
  const colors = barColorsOf(palette, bar.number);
  const line = Math.max(1, Math.round(view.ratio));
  for (const segment of bar.segments) {
    const box = segmentBox(view, segment, bar.lane);
    if (box.x + box.width < 0 || box.x > view.width) continue;
    const { x, y, width, height } = box;
    switch (segment.phase) {
      case 'queue':
        outline(context, colors.queue, box, line);
        break;
      case 'prefill':
        fill(context, colors.prefill, x, y, width, height);
        break;
      case 'decode':
        fill(context, colors.decode, x, y, width, height);
        fill(context, colors.prefill, x, y + height - line, width, line);
        break;
      case 'held':
        fill(context, colors.prefill, x, y + Math.floor(height / 2), width, line);
        break;
    }
  }
  drawSteps(context, bar, columns, view, palette);
  for (const { time, why } of bar.gaveUp) {
    const { y, height } = segmentBox(view, { from: time, to: time }, bar.lane);
    fill(context, palette.marks[why], xOf(view, time) - line, y, 3 * line, height);
  }
  const { y, height } = segmentBox(view, bar, bar.lane);
  const end = xOf(view, bar.to);
  if (bar.state === 'failed') {
    fill(context, palette.marks.failed, end - 4 * line, y, 4 * line, height);
  } else if (bar.state === 'ended') {
    fill(context, colors.prefill, end - 2 * line, y, 2 * line, height);
  }
  drawName(context, bar, view, palette);
}

/** From the very beginning to the very end of a phase: phases of a request touch. */
function segmentBox(
  view: Viewport,
  span: { readonly from: number; readonly to: number },
  lane: number,
): Box {
  const { y, height } = boxOf(view, span, lane);
  const x = xOf(view, span.from);
  return { x, y, width: Math.max(1, xOf(view, span.to) - x), height };
}

/** Where there is room, each step of a request has its edge: a token, or several by a draft. */
function drawSteps(
  context: CanvasRenderingContext2D,
  bar: Bar,
  columns: readonly Column[],
  view: Viewport,
  palette: Palette,
): void {
  const begun = bar.segments.find(({ phase }) => phase !== 'queue')?.from ?? Infinity;
  for (const column of columns) {
    if (column.from < begun || column.to > bar.to) continue;
    const x = xOf(view, column.from);
    if (xOf(view, column.to) - x < STEP_WIDTH * view.ratio) continue;
    const { y, height, width } = boxOf(view, column, bar.lane);
    fill(context, palette.inks.surface, x + width, y, 1, height);
  }
}

function drawName(
  context: CanvasRenderingContext2D,
  bar: Bar,
  view: Viewport,
  palette: Palette,
): void {
  if (view.rowHeight < NAMED_HEIGHT * view.ratio) return;
  const { gutter } = bandsOf(view);
  const { y, height } = boxOf(view, bar, bar.lane);
  const pad = Math.round(5 * view.ratio);
  // After the prompt, whose color is dark, and within what is in sight.
  const text = bar.segments.find(({ phase }) => phase === 'decode') ?? bar;
  const from = Math.max(gutter, xOf(view, text.from));
  const width = Math.min(view.width, xOf(view, bar.to)) - from - 2 * pad;
  if (width < NAMED_WIDTH * view.ratio) return;
  setFont(context, view, 'left');
  context.fillStyle = palette.inks.ink;
  context.save();
  context.beginPath();
  context.rect(from, y, width + pad, height);
  context.clip();
  context.fillText(bar.name, from + pad, y + height / 2 + 1);
  context.restore();
}

function outline(
  context: CanvasRenderingContext2D,
  color: string,
  { x, y, width, height }: Box,
  line: number,
): void {
  fill(context, color, x, y, width, line);
  fill(context, color, x, y + height - line, width, line);
  fill(context, color, x, y, line, height);
  fill(context, color, x + width - line, y, line, height);
}
