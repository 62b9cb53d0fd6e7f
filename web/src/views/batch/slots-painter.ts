/** Slots of the KV cache as rows, with what each did in every iteration. */
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
} from './bands-painter.ts';
import { drawCell, drawSentBack, type DrawMark } from './marks.ts';
import type { Palette } from './palette.ts';
import type { Column } from './column.ts';
import type { Timeline } from './timeline.ts';
import { bandsOf, cellBox, isRowVisible, shownSpan, type Viewport } from './viewport.ts';

/** Content of the canvas by now. */
interface Painted {
  readonly key: string;
  /** Right edge, in pixels from time 0. */
  readonly end: number;
  /** One more than the index of the last column. */
  readonly endIndex: number;
  /** Whether the last column is there up to its end. */
  readonly isWhole: boolean;
}

/**
 * While time goes by, what is there is moved to the left, and only what is new is drawn: so 512 rows
 * cost no more than their last column.
 */
export class SlotsPainter {
  readonly #context: CanvasRenderingContext2D;
  #painted: Painted | null = null;

  constructor(context: CanvasRenderingContext2D) {
    this.#context = context;
  }

  /** Forgets what is on the canvas: it is not from here. */
  forget(): void {
    this.#painted = null;
  }

  /** @param numRows slots of the process */
  paint(timeline: Timeline, view: Viewport, palette: Palette, numRows: number): void {
    const columns = visibleColumns(timeline, view);
    const paint: Paint = { view, palette, scales: scalesOf(columns) };
    const { end, until, ...rest } = view;
    const last = columns.at(-1);
    const endIndex = (last?.index ?? -1) + 1;
    const key = JSON.stringify([rest, palette.key, paint.scales, numRows]);
    const before = this.#painted?.key === key ? this.#painted : null;
    if (before?.end === end && before.endIndex === endIndex) return;
    const shift = before === null ? Infinity : end - before.end;
    const { gutter } = bandsOf(view);
    if (before?.isWhole && shift >= 0 && shift < view.width - gutter) {
      this.#move(view, shift);
      this.#clear(paint, view.width - shift, numRows);
      for (const column of columns) {
        if (column.index >= before.endIndex) this.#column(column, paint);
      }
    } else {
      this.#clear(paint, 0, numRows);
      for (const column of columns) this.#column(column, paint);
    }
    paintAxis(this.#context, paint, columns);
    paintGutter(this.#context, paint, numRows);
    this.#painted = { key, end, endIndex, isWhole: (last?.to ?? 0) <= until };
  }

  #move(view: Viewport, pixels: number): void {
    if (pixels === 0) return;
    const { gutter } = bandsOf(view);
    const { height } = view;
    const width = view.width - gutter - pixels;
    this.#context.drawImage(
      this.#context.canvas,
      gutter + pixels,
      0,
      width,
      height,
      gutter,
      0,
      width,
      height,
    );
  }

  /** The background, from `x` on to the right. */
  #clear(paint: Paint, x: number, numRows: number): void {
    const { view, palette } = paint;
    fill(this.#context, palette.inks.surface, x, 0, view.width - x, view.height);
    paintRows(this.#context, paint, x, numRows);
    clearBelowRows(this.#context, paint, x);
  }

  #column(column: Column, paint: Paint): void {
    const { view, palette } = paint;
    const draw: DrawMark = (mark, x, y, width, height) =>
      fill(this.#context, palette.marks[mark], x, y, width, height);
    for (const cell of column.cells) {
      if (isRowVisible(view, cell.slot)) drawCell(cell, cellBox(view, column, cell), draw);
    }
    for (const [, slot, reason] of column.event.sent_back) {
      if (!isRowVisible(view, slot)) continue;
      drawSentBack(reason === 0 ? 'memory' : 'class', cellBox(view, column, { slot }), draw);
    }
    const { rowsTop, rowsHeight } = bandsOf(view);
    const { x, width } = cellBox(view, column, { slot: 0 });
    const below = rowsTop + rowsHeight;
    fill(this.#context, palette.inks.surface, x, below, width, view.height - below);
    paintBands(this.#context, column, paint);
    paintBreaks(this.#context, column, paint);
  }
}

export function visibleColumns(timeline: Timeline, view: Viewport): readonly Column[] {
  const [from, to] = shownSpan(view);
  return timeline.columnsBetween(view.instance, from, to);
}
