/** The picture of a batch on its two canvases: what happened, and above it what is pointed at. */
import { scalesOf } from './bands-painter.ts';
import type { Bar } from './bars.ts';
import { BarsPainter, drawBar, visibleBars } from './bars-painter.ts';
import { type Palette, readPalette } from './palette.ts';
import type { BatchSession } from './session.ts';
import { SlotsPainter, visibleColumns } from './slots-painter.ts';
import {
  bandsOf,
  boxOf,
  cellBox,
  fittingRowHeight,
  isRowVisible,
  type Mode,
  type Viewport,
} from './viewport.ts';

export class Picture {
  view: Viewport | null = null;
  topRow = 0;
  readonly #session: BatchSession;
  readonly #canvas: HTMLCanvasElement;
  readonly #overlay: CanvasRenderingContext2D;
  readonly #slots: SlotsPainter;
  readonly #bars: BarsPainter;
  #palette: Palette;
  #theme = themeNow();
  #mode: Mode = 'requests';
  #overlaid = '';

  /** @throws Error where the browser has no canvas */
  constructor(session: BatchSession, canvas: HTMLCanvasElement, overlay: HTMLCanvasElement) {
    const context = canvas.getContext('2d', { alpha: false });
    const above = overlay.getContext('2d');
    if (context === null || above === null) throw new Error('this browser cannot draw');
    this.#session = session;
    this.#canvas = canvas;
    this.#overlay = above;
    this.#slots = new SlotsPainter(context);
    this.#bars = new BarsPainter(context);
    this.#palette = readPalette(canvas.parentElement ?? canvas);
  }

  /** To be called with each frame. */
  draw(): void {
    const theme = themeNow();
    if (theme !== this.#theme)
      this.#palette = readPalette(this.#canvas.parentElement ?? this.#canvas);
    this.#theme = theme;
    const { timeline } = this.#session;
    const view = this.#measure();
    this.view = view;
    const painter = view.mode === 'slots' ? this.#slots : this.#bars;
    if (view.mode !== this.#mode) painter.forget();
    this.#mode = view.mode;
    painter.paint(timeline, view, this.#palette, this.#session.numRows);
    this.#drawOverlay(view);
  }

  #measure(): Viewport {
    const ratio = devicePixelRatio;
    const width = Math.round(this.#canvas.clientWidth * ratio);
    const height = Math.round(this.#canvas.clientHeight * ratio);
    for (const canvas of [this.#canvas, this.#overlay.canvas]) {
      if (canvas.width === width && canvas.height === height) continue;
      canvas.width = width;
      canvas.height = height;
      this.#slots.forget();
      this.#bars.forget();
      this.#overlaid = '';
    }
    const session = this.#session;
    session.shownMs = (width - bandsOf({ height, ratio }).gutter) / ratio / session.scale.value;
    const scale = session.scale.value * ratio;
    const until = session.end;
    return {
      instance: session.instance.value,
      mode: session.mode.value,
      scale,
      end: Math.ceil(until * scale),
      until,
      rowHeight: fittingRowHeight(session.numRows, height, ratio),
      topRow: this.topRow,
      width,
      height,
      ratio,
    };
  }

  /** The step that is pointed at, and the request, over all others. */
  #drawOverlay(view: Viewport): void {
    const { timeline, cursor, marked } = this.#session;
    const key = JSON.stringify([
      view,
      cursor.value,
      [...marked.value],
      marked.value.size > 0 ? timeline.version : 0,
      this.#palette.key,
    ]);
    if (key === this.#overlaid) return;
    this.#overlaid = key;
    const context = this.#overlay;
    context.clearRect(0, 0, view.width, view.height);
    const columns = visibleColumns(timeline, view);
    if (view.mode === 'requests' && marked.value.size > 0) {
      const { gutter, rowsTop, rowsHeight } = bandsOf(view);
      context.globalAlpha = 0.72;
      context.fillStyle = this.#palette.inks.surface;
      context.fillRect(gutter, rowsTop, view.width - gutter, rowsHeight);
      context.globalAlpha = 1;
      context.save();
      context.beginPath();
      context.rect(gutter, rowsTop, view.width - gutter, rowsHeight);
      context.clip();
      const paint = { view, palette: this.#palette, scales: scalesOf(columns) };
      for (const bar of visibleBars(timeline, view)) {
        if (marked.value.has(bar.number)) drawBar(context, bar, columns, paint);
      }
      context.restore();
    }
    this.#drawCursor(view);
  }

  #drawCursor(view: Viewport): void {
    const { cursor, timeline } = this.#session;
    if (cursor.value === null) return;
    const { index, row } = cursor.value;
    const column = timeline.columnAt(view.instance, index);
    if (column === undefined) return;
    const { gutter } = bandsOf(view);
    const { x, width } = boxOf(view, column, 0);
    if (x + width <= gutter) return;
    const context = this.#overlay;
    const left = Math.max(gutter, x);
    context.fillStyle = this.#palette.inks.cursor;
    context.globalAlpha = 0.22;
    context.fillRect(left, 0, Math.max(2, x + width - left), view.height);
    context.globalAlpha = 1;
    if (row === null || !isRowVisible(view, row)) return;
    const box = boxOf(view, column, row);
    context.strokeStyle = this.#palette.inks.cursor;
    context.lineWidth = Math.round(1.5 * view.ratio);
    context.strokeRect(left, box.y, Math.max(2, x + width - left), box.height);
  }
}

/** Changes with the colors of the page. */
export function themeNow(): string {
  const chosen = document.documentElement.dataset['theme'] ?? '';
  return `${chosen} ${matchMedia('(prefers-color-scheme: dark)').matches}`;
}

/** The canvas, with what is drawn on it, for tests. */
export interface PictureCanvas extends HTMLCanvasElement {
  drawnCells?: () => ReturnType<typeof drawnCells>;
  drawnBars?: () => ReturnType<typeof drawnBars>;
}

/** Cells that are drawn, for tests. */
export function drawnCells({ timeline }: BatchSession, view: Viewport) {
  return visibleColumns(timeline, view).flatMap((column) =>
    column.cells
      .filter(({ slot }) => isRowVisible(view, slot))
      .map(({ start: _start, pages: _pages, ...cell }) => ({
        step: column.event.step,
        ...cell,
        box: cellBox(view, column, cell),
      })),
  );
}

/** The same of requests. */
export function drawnBars({ timeline }: BatchSession, view: Viewport) {
  return visibleBars(timeline, view).map((bar: Bar) => ({
    ...bar,
    box: boxOf(view, bar, bar.lane),
    phases: bar.segments.map(({ phase, from, to }) => ({
      phase,
      box: boxOf(view, { from, to }, bar.lane),
    })),
  }));
}
