import { expect, test } from 'vitest';
import { SLOT_WORK } from '../../src/engine/tap/step-record.ts';
import { type StepsEvent, stepsEvent } from '../../src/server/schemas/steps.ts';
import { WORK } from '../../web/src/views/batch/cell.ts';
import { INKS, type Palette } from '../../web/src/views/batch/palette.ts';
import { MARKS } from '../../web/src/views/batch/marks.ts';
import { niceAbove } from '../../web/src/views/batch/bands-painter.ts';
import { SlotsPainter } from '../../web/src/views/batch/slots-painter.ts';
import type { BatchEvent } from '../../web/src/views/batch/step-events.ts';
import { Timeline } from '../../web/src/views/batch/timeline.ts';
import { fittingRowHeight, type Viewport } from '../../web/src/views/batch/viewport.ts';

const NUM_LANES = 512;

/** Everything is decoding. */
function step(number: number): BatchEvent {
  const cells = Array.from({ length: NUM_LANES }, (_, slot) => [
    slot,
    slot + 1,
    1,
    number,
    1,
    1,
    4,
  ]);
  const none = { waiting: [], num_waiting: 0, sent_back: [] };
  const times = { at: number * 10, ms: 9, run_ms: 8, predicted_ms: 8 };
  const pages = [16, 4096, 2048, 0] as const;
  return { type: 'step', instance: 0, step: number, ...times, ...none, cells, pages };
}

const palette: Palette = {
  marks: Object.fromEntries(MARKS.map((name) => [name, name])) as Palette['marks'],
  inks: Object.fromEntries(INKS.map((name) => [name, name])) as Palette['inks'],
  bars: [],
  key: 'test',
};

/** Pixels of a millisecond. */
const SCALE = 0.4;

function open() {
  const counts = { fills: 0, moves: 0 };
  // Only what it draws with.
  const context = {
    fillRect: () => void counts.fills++,
    drawImage: () => void counts.moves++,
    fillText: () => {},
    measureText: () => ({ width: 10 }),
    save: () => {},
    restore: () => {},
    translate: () => {},
    rotate: () => {},
  } as unknown as CanvasRenderingContext2D;
  const painter = new SlotsPainter(context);
  const timeline = new Timeline();
  const size = { width: 1600, height: 1200, ratio: 1 };
  const paint = () => {
    [counts.fills, counts.moves] = [0, 0];
    const view: Viewport = {
      instance: 0,
      mode: 'slots',
      scale: SCALE,
      end: Math.ceil(timeline.span(0)[1] * SCALE),
      rowHeight: fittingRowHeight(NUM_LANES, size.height, 1),
      topRow: 0,
      ...size,
    };
    painter.paint(timeline, view, palette, NUM_LANES);
    return { ...counts };
  };
  return { timeline, paint };
}

test('with 512 lanes a frame costs its new columns, not all that are in view', () => {
  const { timeline, paint } = open();
  for (let number = 0; number < 300; number++) timeline.apply(step(number));
  const whole = paint();
  expect(whole.fills).toBeGreaterThan(300 * NUM_LANES);
  // Nothing new, nothing drawn.
  expect(paint()).toEqual({ fills: 0, moves: 0 });
  timeline.apply(step(300));
  timeline.apply(step(301));
  const { fills, moves } = paint();
  expect(moves).toBe(1);
  expect(fills).toBeGreaterThan(2 * NUM_LANES);
  // The axis, the rows' background and names are drawn anew.
  expect(fills).toBeLessThan(2 * NUM_LANES + 400);
});

test('a timeline forgets its oldest columns, and knows which they were', () => {
  const timeline = new Timeline();
  for (let number = 0; number < 2000; number++) timeline.apply(step(number));
  const columns = timeline.columns(0);
  expect(timeline.endIndex(0)).toBe(2000);
  expect(columns.length * NUM_LANES).toBeLessThanOrEqual(400_000);
  expect(timeline.firstIndex(0)).toBe(2000 - columns.length);
  expect(timeline.columnAt(0, 1999)?.event.step).toBe(1999);
  expect(timeline.columnAt(0, timeline.firstIndex(0))?.event.step).toBe(timeline.firstIndex(0));
  expect(timeline.columnAt(0, timeline.firstIndex(0) - 1)).toBeUndefined();
});

test('the page means the same by its events as the server', () => {
  expect(WORK).toEqual(SLOT_WORK);
  // Types: each is the other.
  const toServer = (event: BatchEvent): StepsEvent => stepsEvent.parse(event);
  const toPage = (event: StepsEvent): BatchEvent => event;
  const event = step(3);
  expect(toPage(toServer(event))).toEqual(event);
});

test('the scale of times is 1, 2 or 5 of something', () => {
  expect([0.3, 1, 1.1, 4.9, 5, 5.1, 70, 230].map(niceAbove)).toEqual([
    0.5, 1, 2, 5, 5, 10, 100, 500,
  ]);
});
