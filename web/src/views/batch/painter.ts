import { drawCell, drawSentBack, type DrawMark, type Mark } from './marks.ts';
import type { Palette } from './palette.ts';
import type { Column, Timeline } from './timeline.ts';
import {
  bandsOf,
  cellBox,
  columnX,
  isLaneVisible,
  numVisible,
  numVisibleLanes,
  type Viewport,
} from './viewport.ts';

/** What is on the canvas by now. */
interface Painted {
  readonly key: string;
  readonly end: number;
}

/**
 * Draws columns. While time goes by, what is there is moved to the left, and only what is new is drawn:
 * so 512 lanes cost no more than their last column.
 */
export class Painter {
  readonly #canvas: HTMLCanvasElement;
  readonly #context: CanvasRenderingContext2D;
  #painted: Painted | null = null;

  /** @throws Error where the browser has no canvas */
  constructor(canvas: HTMLCanvasElement) {
    const context = canvas.getContext('2d', { alpha: false });
    if (context === null) throw new Error('this browser can not draw');
    this.#canvas = canvas;
    this.#context = context;
  }

  /** @param numLanes slots of the process */
  paint(timeline: Timeline, view: Viewport, palette: Palette, numLanes: number): void {
    const columns = visibleColumns(timeline, view);
    const scaleMs = niceMs(Math.max(1, ...columns.map(({ event }) => longerOf(event))));
    const { end, ...rest } = view;
    const key = JSON.stringify([rest, palette.key, scaleMs, numLanes]);
    const shift = this.#painted?.key === key ? end - this.#painted.end : Infinity;
    if (shift === 0) return;
    const paint = { view, palette, scaleMs };
    if (shift > 0 && shift < numVisible(view)) {
      this.#move(view, shift * view.columnWidth);
      this.#clear(paint, numLanes, view.width - shift * view.columnWidth);
      for (const column of columns) if (column.index >= end - shift) this.#column(column, paint);
    } else {
      this.#clear(paint, numLanes, 0);
      for (const column of columns) this.#column(column, paint);
    }
    this.#gutter(paint, numLanes);
    this.#painted = { key, end };
  }

  #move(view: Viewport, pixels: number): void {
    const { gutter } = bandsOf(view);
    const width = view.width - gutter - pixels;
    const { height } = view;
    this.#context.drawImage(
      this.#canvas,
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
  #clear({ view, palette: { inks } }: Paint, numLanes: number, x: number): void {
    const { lanesTop } = bandsOf(view);
    const { width, height, laneHeight, topLane, ratio } = view;
    this.#fill(inks.surface, x, 0, width - x, height);
    // Every fourth lane is a little darker, so that the eye can follow one.
    if (laneHeight < 4 * ratio) return;
    const numRows = Math.min(numVisibleLanes(view), numLanes - topLane);
    for (let row = 0; row < numRows; row++) {
      if ((topLane + row) % 4 === 0)
        this.#fill(inks.lane, x, lanesTop + row * laneHeight, width - x, laneHeight);
    }
    this.#clearBand(view, inks.surface, x);
  }

  /** Lanes that reach below theirs. */
  #clearBand(view: Viewport, color: string, x: number): void {
    const { lanesTop, lanesHeight } = bandsOf(view);
    const top = lanesTop + lanesHeight;
    this.#fill(color, x, top, view.width - x, view.height - top);
  }

  #column(column: Column, { view, palette, scaleMs }: Paint): void {
    const { inks, marks } = palette;
    const draw: DrawMark = (mark: Mark, x, y, width, height) =>
      this.#fill(marks[mark], x, y, width, height);
    for (const cell of column.cells) {
      if (isLaneVisible(view, cell.slot)) drawCell(cell, cellBox(view, column.index, cell), draw);
    }
    for (const [, slot, reason] of column.event.sent_back) {
      if (!isLaneVisible(view, slot)) continue;
      drawSentBack(reason === 0 ? 'memory' : 'class', cellBox(view, column.index, { slot }), draw);
    }
    this.#clearBandOf(column, view, inks.surface);
    this.#strip(column, { view, palette, scaleMs });
    this.#memory(column, { view, palette, scaleMs });
    if (column.lostBefore > 0 || column.isRecovered) {
      const line = Math.max(1, Math.round(view.ratio));
      const color = column.isRecovered ? marks.failed : inks.lost;
      this.#fill(color, columnX(view, column.index) - line, 0, line, view.height);
    }
  }

  #clearBandOf({ index }: Column, view: Viewport, color: string): void {
    const { lanesTop, lanesHeight } = bandsOf(view);
    const top = lanesTop + lanesHeight;
    this.#fill(color, columnX(view, index), top, view.columnWidth, view.height - top);
  }

  /** How long the step took, and a line where the cost model expected it to end. */
  #strip({ index, event }: Column, { view, palette, scaleMs }: Paint): void {
    const { stripHeight } = bandsOf(view);
    const { x, width } = cellBox(view, index, { slot: 0 });
    const heightOf = (ms: number) =>
      Math.min(stripHeight, Math.round((stripHeight * ms) / scaleMs));
    const line = Math.max(1, Math.round(1.5 * view.ratio));
    const total = heightOf(event.ms);
    this.#fill(palette.inks.step, x, stripHeight - total, width, total);
    const expected = heightOf(event.predicted_ms);
    this.#fill(palette.inks.predicted, x, Math.max(0, stripHeight - expected - line), width, line);
  }

  /** Of running requests from below, of kept texts above them. */
  #memory({ index, event }: Column, { view, palette }: Paint): void {
    const { memoryTop, memoryHeight } = bandsOf(view);
    const [, total, running, kept] = event.pages;
    const { x, width } = cellBox(view, index, { slot: 0 });
    const heightOf = (pages: number) => Math.round((memoryHeight * pages) / Math.max(1, total));
    const bottom = memoryTop + memoryHeight;
    const used = heightOf(running);
    const keptHeight = heightOf(kept);
    this.#fill(palette.inks.lane, x, memoryTop, width, memoryHeight);
    this.#fill(palette.marks.decode, x, bottom - used, width, used);
    this.#fill(palette.marks.cached, x, bottom - used - keptHeight, width, keptHeight);
  }

  /** Names of lanes and of the two bands. */
  #gutter({ view, palette, scaleMs }: Paint, numLanes: number): void {
    const { gutter, lanesTop, memoryTop } = bandsOf(view);
    const { laneHeight, topLane, ratio, height } = view;
    const context = this.#context;
    this.#fill(palette.inks.surface, 0, 0, gutter - 1, height);
    this.#fill(palette.inks.line, gutter - 1, 0, 1, height);
    context.fillStyle = palette.inks.text;
    context.font = `${Math.round(11 * ratio)}px system-ui, sans-serif`;
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    const every = Math.max(1, Math.ceil((13 * ratio) / laneHeight));
    const x = gutter - Math.round(6 * ratio);
    for (let row = 0; row < numVisibleLanes(view); row++) {
      const slot = topLane + row;
      if (slot >= numLanes || slot % every !== 0) continue;
      context.fillText(String(slot), x, lanesTop + (row + 0.5) * laneHeight);
    }
    context.fillText(`${scaleMs} ms`, x, Math.round(8 * ratio));
    context.fillText('KV', x, memoryTop + Math.round(8 * ratio));
  }

  #fill(color: string, x: number, y: number, width: number, height: number): void {
    if (width <= 0 || height <= 0) return;
    const context = this.#context;
    context.fillStyle = color;
    context.fillRect(x, y, width, height);
  }
}

interface Paint {
  readonly view: Viewport;
  readonly palette: Palette;
  readonly scaleMs: number;
}

export function visibleColumns(timeline: Timeline, view: Viewport): readonly Column[] {
  const first = timeline.firstIndex(view.instance);
  const columns = timeline.columns(view.instance);
  const start = Math.max(0, view.end - numVisible(view) - first);
  return columns.slice(start, Math.max(0, view.end - first));
}

function longerOf({ ms, predicted_ms }: Column['event']): number {
  return Math.max(ms, predicted_ms);
}

/** The next of 1, 2, 5, 10, ... */
export function niceMs(ms: number): number {
  const power = 10 ** Math.floor(Math.log10(ms));
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= ms) ?? 10);
}
