import { useEffect, useRef } from 'preact/hooks';
import { formatMs } from '../../format.ts';
import { type Palette, readPalette } from './palette.ts';
import { themeNow } from './picture.ts';
import type { BatchSession } from './session.ts';

const DRAW_MS = 200;

/** All that is kept, as how many requests ran, with the part that is in the picture. */
export function Overview({ session }: { readonly session: BatchSession }) {
  void session.panels.value;
  const canvas = useRef<HTMLCanvasElement>(null);
  const drag = useRef<{ readonly time: number; readonly isWindow: boolean } | null>(null);
  useEffect(() => {
    let palette: Palette | null = null;
    let theme = '';
    const draw = () => {
      const { current } = canvas;
      if (current === null) return;
      if (palette === null || theme !== themeNow()) {
        palette = readPalette(current.closest<HTMLElement>('.batch') ?? current);
      }
      theme = themeNow();
      drawOverview(session, current, palette);
    };
    const timer = setInterval(draw, DRAW_MS);
    draw();
    return () => clearInterval(timer);
  }, [session]);
  const [first, last] = session.timeline.span(session.instance.value);
  const timeOf = (event: PointerEvent & { currentTarget: HTMLElement }) =>
    first + (event.offsetX / event.currentTarget.clientWidth) * (last - first);
  const { end, shownMs } = session;
  return (
    <canvas
      ref={canvas}
      class="batch-overview"
      role="slider"
      tabIndex={0}
      aria-label="Part of the history that is shown"
      aria-valuemin={Math.round(first)}
      aria-valuemax={Math.round(last)}
      aria-valuenow={Math.round(end)}
      aria-valuetext={`${formatMs(Math.max(first, end - shownMs))} to ${formatMs(end)} of ${formatMs(last)}`}
      title="Drag to choose what is shown"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        const time = timeOf(event);
        drag.current = { time, isWindow: time > end - shownMs && time < end };
        if (!drag.current.isWindow) session.pan(time + shownMs / 2 - end);
      }}
      onPointerMove={(event) => {
        const { current } = drag;
        if (current === null) return;
        const time = timeOf(event);
        if (current.isWindow) {
          session.pan(time - current.time);
          drag.current = { ...current, time };
        } else if (Math.abs(time - current.time) > (last - first) / 100) {
          session.showSpan(Math.min(time, current.time), Math.max(time, current.time));
        }
      }}
      onPointerUp={() => (drag.current = null)}
      onPointerCancel={() => (drag.current = null)}
      onDblClick={() => session.showAll()}
      onKeyDown={(event) => {
        const step = { ArrowLeft: -0.5, ArrowRight: 0.5, PageUp: -1, PageDown: 1 }[event.key];
        if (step !== undefined) session.pan(step * shownMs);
        else if (event.key === 'Home') session.pan(-Infinity);
        else if (event.key === 'End') session.resume();
        else return;
        event.preventDefault();
      }}
    />
  );
}

function drawOverview(
  session: BatchSession,
  canvas: HTMLCanvasElement,
  { marks, inks }: Palette,
): void {
  const context = canvas.getContext('2d');
  if (context === null) return;
  const ratio = devicePixelRatio;
  const width = Math.round(canvas.clientWidth * ratio);
  const height = Math.round(canvas.clientHeight * ratio);
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const instance = session.instance.value;
  const [first, last] = session.timeline.span(instance);
  const x = (time: number) => ((time - first) / Math.max(1, last - first)) * width;
  context.fillStyle = inks.lane;
  context.fillRect(0, 0, width, height);
  // The most of each pixel.
  const running = new Float64Array(width + 1);
  let most = 1;
  for (const { from, to, cells } of session.timeline.columns(instance)) {
    const count = cells.filter(({ work }) => work !== 'kept').length;
    most = Math.max(most, count);
    for (let at = Math.floor(x(from)); at <= Math.min(width, x(to)); at++) {
      running[at] = Math.max(running[at] ?? 0, count);
    }
  }
  context.fillStyle = marks.decode;
  for (const [at, count] of running.entries()) {
    const tall = Math.round((count / most) * (height - 4));
    context.fillRect(at, height - tall, 1, tall);
  }
  const from = x(Math.max(first, session.end - session.shownMs));
  const to = x(session.end);
  context.globalAlpha = 0.6;
  context.fillStyle = inks.surface;
  context.fillRect(0, 0, from, height);
  context.fillRect(to, 0, width - to, height);
  context.globalAlpha = 1;
  context.strokeStyle = inks.cursor;
  context.lineWidth = 2 * ratio;
  context.strokeRect(from + ratio, ratio, Math.max(4, to - from - 2 * ratio), height - 2 * ratio);
}
