import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { drawnBars, drawnCells, Picture, type PictureCanvas } from './picture.ts';
import type { BatchSession } from './session.ts';
import { Tip } from './tip.tsx';
import { hit, numVisibleRows, ZOOM_STEP } from './viewport.ts';
import { barAt, describeCursor } from './words.ts';

/** Pixels that a pointer moves before it drags. */
const DRAG_PIXELS = 4;

/** Requests or slots as rows, time to the right. */
export function PictureView({ session }: { readonly session: BatchSession }) {
  const canvas = useRef<PictureCanvas>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const picture = useRef<Picture | null>(null);
  /** Where the pointer is, in CSS pixels. */
  const pointer = useSignal<{ readonly x: number; readonly y: number } | null>(null);
  const dragged = useRef<{ x: number; y: number; isMoved: boolean } | null>(null);

  useEffect(() => {
    const { current: element } = canvas;
    if (element === null || overlay.current === null) return;
    const drawn = new Picture(session, element, overlay.current);
    picture.current = drawn;
    let lastAt = performance.now();
    let frame = 0;
    const draw = (now: number) => {
      frame = requestAnimationFrame(draw);
      session.frame(now - lastAt);
      lastAt = now;
      drawn.draw();
      // Cells under the pointer change while the picture moves below it.
      if (pointer.peek() !== null && dragged.current === null) hover();
    };
    element.drawnCells = () => (drawn.view === null ? [] : drawnCells(session, drawn.view));
    element.drawnBars = () => (drawn.view === null ? [] : drawnBars(session, drawn.view));
    frame = requestAnimationFrame(draw);
    return () => cancelAnimationFrame(frame);
  }, [session]);

  const pointed = () => {
    const { current } = picture;
    const at = pointer.peek();
    if (!current?.view || at === null) return null;
    const { view } = current;
    const found = hit(view, at.x * view.ratio, at.y * view.ratio);
    if (found === null) return null;
    const column = session.timeline.columnBy(view.instance, found.time);
    if (column === undefined) return null;
    const span = { ...column, from: found.time, to: found.time };
    const isRequest = view.mode === 'requests' && found.row !== null;
    const bar = isRequest ? (barAt(session, span, found.row ?? 0) ?? null) : null;
    return { cursor: { index: column.index, row: found.row }, bar, time: found.time };
  };
  const hover = () => {
    const found = pointed();
    session.hover(found?.cursor ?? null, found?.bar ?? null);
  };
  const scroll = (rows: number) => {
    const { current } = picture;
    if (!current?.view) return;
    const most = Math.max(0, session.numRows - numVisibleRows(current.view) + 1);
    current.topRow = Math.max(0, Math.min(most, current.topRow + rows));
  };
  const hasMoreRows = () => {
    const view = picture.current?.view;
    return view ? numVisibleRows(view) < session.numRows : false;
  };

  return (
    <div class="batch-picture">
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-roledescription="timeline"
        aria-label="Requests as bars, or slots as rows; time goes to the right"
        aria-describedby="batch-keys"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          pointer.value = { x: event.offsetX, y: event.offsetY };
          dragged.current = { x: event.offsetX, y: event.offsetY, isMoved: false };
        }}
        onPointerMove={(event) => {
          const { current } = dragged;
          pointer.value = { x: event.offsetX, y: event.offsetY };
          if (current === null) return;
          const moved = current.x - event.offsetX;
          if (!current.isMoved && Math.abs(moved) < DRAG_PIXELS) return;
          current.isMoved = true;
          current.x = event.offsetX;
          session.pan(moved / session.scale.peek());
        }}
        onPointerUp={() => {
          const { current } = dragged;
          dragged.current = null;
          if (current === null || current.isMoved) return;
          const found = pointed();
          session.point(found?.cursor ?? null, found?.bar ?? null);
        }}
        onPointerCancel={() => (dragged.current = null)}
        onPointerLeave={() => {
          pointer.value = null;
          session.hover(null);
        }}
        onWheel={(event) => {
          const { deltaX, deltaY, ctrlKey, metaKey, shiftKey } = event;
          if (ctrlKey || metaKey) {
            event.preventDefault();
            session.zoom(deltaY < 0 ? ZOOM_STEP : 1 / ZOOM_STEP, pointed()?.time);
            return;
          }
          const across = shiftKey && deltaX === 0 ? deltaY : deltaX;
          if (Math.abs(across) > Math.abs(shiftKey ? 0 : deltaY)) {
            event.preventDefault();
            session.pan(across / session.scale.peek());
          } else if (hasMoreRows()) {
            event.preventDefault();
            scroll(Math.sign(deltaY) * 2);
          } else if (session.isHeld) {
            // A picture that stands still is walked through; while it runs, the page scrolls.
            event.preventDefault();
            session.pan(deltaY / session.scale.peek());
          }
        }}
        onKeyDown={(event) => {
          if (!onKey(event, session, scroll)) return;
          event.preventDefault();
          pointer.value = null;
        }}
      />
      <canvas ref={overlay} class="batch-overlay" aria-hidden="true" />
      {pointer.value && <Tip session={session} at={pointer.value} />}
      <p id="batch-keys" class="hidden-text">
        Left and right move from step to step, with Shift by half of the picture, up and down from
        row to row. Plus and minus zoom, 0 shows all that is kept, the space bar pauses, Escape lets
        go of what is held and follows the last step. The table below has the same step in words.
      </p>
      <p class="hidden-text" aria-live="polite">
        {session.cursor.value !== null && session.isPinned ? describeCursor(session) : ''}
      </p>
    </div>
  );
}

/** @returns whether the key means anything here */
function onKey(
  { key, shiftKey, ctrlKey, metaKey, altKey }: KeyboardEvent,
  session: BatchSession,
  scroll: (rows: number) => void,
): boolean {
  if (ctrlKey || metaKey || altKey) return false;
  const { timeline, instance } = session;
  const last = session.column?.index ?? timeline.endIndex(instance.value) - 1;
  const { index, row } = session.cursor.value ?? { index: last, row: null };
  const moveTo = (to: number, nextRow = row) => {
    const first = timeline.firstIndex(instance.value);
    const target = Math.max(first, Math.min(timeline.endIndex(instance.value) - 1, to));
    const column = timeline.columnAt(instance.value, target);
    if (column === undefined) return;
    const isBar = session.mode.value === 'requests' && nextRow !== null;
    const bar = isBar ? barAt(session, column, nextRow) : null;
    session.point({ index: target, row: nextRow }, bar ?? null);
    keepInSight(session, column);
  };
  const most = session.numRows - 1;
  const half = session.shownMs / 2;
  const actions: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => (shiftKey ? session.pan(-half) : moveTo(index - 1)),
    ArrowRight: () => (shiftKey ? session.pan(half) : moveTo(index + 1)),
    ArrowUp: () => moveTo(index, Math.max(0, (row ?? 1) - 1)),
    ArrowDown: () => moveTo(index, Math.min(most, (row ?? -1) + 1)),
    PageUp: () => scroll(-8),
    PageDown: () => scroll(8),
    Home: () => moveTo(timeline.firstIndex(instance.value)),
    End: () => moveTo(timeline.endIndex(instance.value) - 1),
    // A recording that stands still without being held stays at its step.
    Escape: () => (session.isHeld ? session.resume() : session.point(null)),
    '+': () => session.zoom(ZOOM_STEP),
    '-': () => session.zoom(1 / ZOOM_STEP),
    '0': () => session.showAll(),
    ' ': () => (session.isStill ? session.resume() : session.hold()),
  };
  const action = actions[key];
  action?.();
  return action !== undefined;
}

/** The picture follows a cursor that leaves it. */
function keepInSight(
  session: BatchSession,
  { from, to }: { readonly from: number; readonly to: number },
): void {
  const start = session.end - session.shownMs;
  if (from < start) session.showEnd(from + session.shownMs * 0.75);
  else if (to > session.end) session.showEnd(to + session.shownMs * 0.25);
}
