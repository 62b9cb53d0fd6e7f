import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { describeCell } from './cell.ts';
import { drawnCells, type LanesCanvas } from './drawn-cells.ts';
import { Painter } from './painter.ts';
import { readPalette } from './palette.ts';
import type { BatchSession, Cursor } from './session.ts';
import type { Column } from './timeline.ts';
import {
  bandsOf,
  cellBox,
  COLUMN_WIDTHS,
  fittingLaneHeight,
  hit,
  numVisibleLanes,
  type Viewport,
} from './viewport.ts';

interface LanesProps {
  readonly session: BatchSession;
  /** Place in COLUMN_WIDTHS. */
  readonly zoom: number;
  readonly onZoom: (by: number) => void;
}

/** Slots as lanes, iterations as columns. */
export function Lanes({ session, zoom, onZoom }: LanesProps) {
  const canvas = useRef<LanesCanvas>(null);
  const view = useRef<Viewport | null>(null);
  const topLane = useRef(0);
  const zoomed = useRef(zoom);
  zoomed.current = zoom;
  const hint = useSignal<{ readonly x: number; readonly y: number } | null>(null);

  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const painter = new Painter(element);
    let lastAt = performance.now();
    let palette = readPalette(element.parentElement ?? element);
    let paletteAt = 0;
    let frame = 0;
    const draw = (now: number) => {
      frame = requestAnimationFrame(draw);
      session.frame(now - lastAt);
      lastAt = now;
      // The theme may change; it need not be seen at once.
      if (now - paletteAt > 500) {
        palette = readPalette(element.parentElement ?? element);
        paletteAt = now;
      }
      view.current = measure(element, session, COLUMN_WIDTHS[zoomed.current] ?? 6, topLane);
      painter.paint(session.timeline, view.current, palette, numLanes(session));
    };
    element.drawnCells = () =>
      view.current === null ? [] : drawnCells(session.timeline, view.current);
    frame = requestAnimationFrame(draw);
    return () => cancelAnimationFrame(frame);
  }, [session]);

  const pointAt = (event: PointerEvent) => {
    const { current } = view;
    if (current === null) return null;
    const found = hit(current, event.offsetX * current.ratio, event.offsetY * current.ratio);
    return found && { index: found.index, slot: found.slot < 0 ? null : found.slot };
  };
  const scroll = (lanes: number) => {
    const numVisible = view.current === null ? 0 : numVisibleLanes(view.current);
    const most = Math.max(0, numLanes(session) - numVisible + 1);
    topLane.current = Math.max(0, Math.min(most, topLane.current + lanes));
  };
  return (
    <div class="batch-lanes">
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-roledescription="timeline"
        aria-label="Slots as lanes, iterations as columns"
        aria-describedby="batch-keys"
        onPointerMove={(event) => {
          hint.value = { x: event.offsetX, y: event.offsetY };
          session.hover(pointAt(event));
        }}
        onPointerLeave={() => {
          hint.value = null;
          session.hover(null);
        }}
        onPointerDown={(event) => session.point(pointAt(event))}
        onWheel={(event) => {
          const isScrolled =
            view.current !== null && numVisibleLanes(view.current) < numLanes(session);
          // Where all lanes are in view, the page scrolls.
          if (event.ctrlKey || isScrolled) event.preventDefault();
          if (event.ctrlKey) onZoom(event.deltaY < 0 ? 1 : -1);
          else scroll(Math.sign(event.deltaY) * 2);
        }}
        onKeyDown={(event) => {
          if (!onKey(event.key, session, onZoom, scroll)) return;
          event.preventDefault();
          hint.value = null;
        }}
      />
      <CursorLine session={session} view={view} />
      {hint.value && <Tip session={session} at={hint.value} />}
      <p id="batch-keys" class="hidden-text">
        Left and right move from step to step, up and down from slot to slot, plus and minus zoom,
        the space bar pauses, Escape goes back to the last step. The table below has the same step
        in words.
      </p>
      <p class="hidden-text" aria-live="polite">
        {session.cursor.value === null ? '' : describeCursor(session, session.cursor.value)}
      </p>
    </div>
  );
}

/** @returns whether the key means anything here */
function onKey(
  key: string,
  session: BatchSession,
  onZoom: (by: number) => void,
  scroll: (lanes: number) => void,
): boolean {
  const { index, slot } = session.cursor.value ?? { index: session.end - 1, slot: null };
  const first = session.timeline.firstIndex(session.instance.value);
  const moveTo = (to: number, lane = slot) => {
    if (!session.isPaused.value && session.replay.value === null) session.pause(true);
    session.point({ index: Math.max(first, Math.min(session.end - 1, to)), slot: lane });
  };
  const last = numLanes(session) - 1;
  const actions: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => moveTo(index - 1),
    ArrowRight: () => moveTo(index + 1),
    ArrowUp: () => moveTo(index, Math.max(0, (slot ?? 1) - 1)),
    ArrowDown: () => moveTo(index, Math.min(last, (slot ?? -1) + 1)),
    PageUp: () => scroll(-8),
    PageDown: () => scroll(8),
    Home: () => moveTo(first),
    End: () => moveTo(session.end - 1),
    Escape: () => session.point(null),
    '+': () => onZoom(1),
    '-': () => onZoom(-1),
    ' ': () => session.pause(!isStill(session)),
  };
  const action = actions[key];
  action?.();
  return action !== undefined;
}

export function isStill({ replay, isPaused }: BatchSession): boolean {
  return replay.value === null ? isPaused.value : !replay.value.isPlaying;
}

/** Slots of the process; of those that are kept for texts, the ones that are in use. */
export function numLanes({ timeline, instance }: BatchSession): number {
  return timeline.engines.get(instance.value)?.slots ?? 1;
}

function measure(
  canvas: HTMLCanvasElement,
  session: BatchSession,
  columnWidth: number,
  topLane: { current: number },
): Viewport {
  const ratio = devicePixelRatio;
  const width = Math.round(canvas.clientWidth * ratio);
  const height = Math.round(canvas.clientHeight * ratio);
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const laneHeight = fittingLaneHeight(numLanes(session), height, ratio);
  return {
    instance: session.instance.value,
    end: session.end,
    columnWidth: Math.round(columnWidth * ratio),
    laneHeight,
    topLane: topLane.current,
    width,
    height,
    ratio,
  };
}

interface CursorLineProps {
  readonly session: BatchSession;
  readonly view: { readonly current: Viewport | null };
}

/** Where the tables below look. */
function CursorLine({ session, view }: CursorLineProps) {
  const cursor = session.cursor.value;
  const { current } = view;
  if (cursor === null || current === null) return null;
  const { x, y, width, height } = cellBox(current, cursor.index, { slot: cursor.slot ?? 0 });
  const { gutter } = bandsOf(current);
  if (x + width < gutter) return null;
  const px = (length: number) => `${length / current.ratio}px`;
  return (
    <>
      <div class="batch-cursor" style={{ left: px(x), width: px(width) }} />
      {cursor.slot !== null && (
        <div
          class="batch-cursor-cell"
          style={{ left: px(x), top: px(y), width: px(width), height: px(height) }}
        />
      )}
    </>
  );
}

/** Where there is no room for it on the left, it is on the right; in CSS pixels. */
const TIP_WIDTH = 300;

function Tip({
  session,
  at,
}: {
  readonly session: BatchSession;
  readonly at: { x: number; y: number };
}) {
  const cursor = session.cursor.value;
  if (cursor === null || session.column === undefined) return null;
  return (
    <p
      class={at.x < TIP_WIDTH ? 'batch-tip right' : 'batch-tip'}
      style={{ left: `${at.x}px`, top: `${at.y}px` }}
      aria-hidden="true"
    >
      {describeCursor(session, cursor)}
    </p>
  );
}

function describeCursor(session: BatchSession, { slot }: Cursor): string {
  const { column } = session;
  if (column === undefined) return 'No step.';
  const step = `Step ${column.event.step}: ${describeTimes(column)}.`;
  if (slot === null) return step;
  return `${step} Slot ${slot}: ${describeSlot(session, column, slot)}.`;
}

export function describeTimes({ event }: Column): string {
  return `${event.ms.toFixed(1)} ms, ${event.predicted_ms.toFixed(1)} ms expected`;
}

function describeSlot(session: BatchSession, column: Column, slot: number): string {
  const { instance } = column.event;
  const cell = column.cells.find((each) => each.slot === slot);
  const sentBack = column.event.sent_back.find((each) => each[1] === slot);
  const gaveUp = sentBack
    ? `request ${session.timeline.request(instance, sentBack[0])?.request_id ?? sentBack[0]} gave it up ` +
      `for ${sentBack[2] === 0 ? 'want of memory' : 'a better class'}; `
    : '';
  if (cell === undefined) return `${gaveUp}idle`;
  const request = session.timeline.request(instance, cell.request);
  const name = cell.request === 0 ? '' : `, request ${request?.request_id ?? cell.request}`;
  const ofClass = request?.class ? `, ${request.class}` : '';
  return `${gaveUp}${describeCell(cell)}${name}${ofClass}`;
}
