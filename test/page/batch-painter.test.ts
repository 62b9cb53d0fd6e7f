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
import { bandsOf, fittingRowHeight, type Viewport } from '../../web/src/views/batch/viewport.ts';

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

/** Methods that words are drawn with, which leave nothing here. */
const WORDS = {
  fillText: () => {},
  measureText: () => ({ width: 10 }),
  save: () => {},
  restore: () => {},
  translate: () => {},
  rotate: () => {},
};

function open() {
  const counts = { fills: 0, moves: 0 };
  // Only what it draws with.
  const context = {
    fillRect: () => void counts.fills++,
    drawImage: () => void counts.moves++,
    ...WORDS,
  } as unknown as CanvasRenderingContext2D;
  const painter = new SlotsPainter(context);
  const timeline = new Timeline();
  const size = { width: 1600, height: 1200, ratio: 1 };
  const paint = () => {
    [counts.fills, counts.moves] = [0, 0];
    const [, until] = timeline.span(0);
    const view: Viewport = {
      instance: 0,
      mode: 'slots',
      scale: SCALE,
      end: Math.ceil(until * SCALE),
      until,
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

/** A painter on a canvas that knows the color of each pixel. */
function paintInto(timeline: Timeline) {
  const [width, height, numRows] = [300, 200, 8];
  let pixels = Array.from({ length: height }, () => Array<string>(width).fill(''));
  const context = {
    fillStyle: '',
    canvas: null,
    fillRect(x: number, y: number, w: number, h: number) {
      for (const row of pixels.slice(Math.max(0, y), Math.max(0, y + h)))
        row.fill(this.fillStyle, Math.max(0, x), Math.max(0, x + w));
    },
    drawImage(_: null, x: number, y: number, w: number, h: number, toX: number) {
      pixels = pixels.map((row, at) =>
        at < y || at >= y + h ? row : row.with(0, row[0] ?? '').copyWithin(toX, x, x + w),
      );
    },
    ...WORDS,
  };
  const painter = new SlotsPainter(context as unknown as CanvasRenderingContext2D);
  /** @param until time at the right edge */
  return (until: number) => {
    const size = { width, height, ratio: 1, rowHeight: 10, topRow: 0 };
    const end = Math.ceil(until * SCALE);
    const view: Viewport = { instance: 0, mode: 'slots', scale: SCALE, end, until, ...size };
    painter.paint(timeline, view, palette, numRows);
    const { axisHeight } = bandsOf(view);
    // Without the axis: where its words are is not known here.
    return pixels.slice(axisHeight).flat();
  };
}

/** Number of pixels that differ. */
const numDiffering = (some: readonly string[], others: readonly string[]) =>
  some.filter((color, index) => color !== others[index]).length;

test('what was moved and added to is as if it were painted at once', () => {
  const timeline = new Timeline();
  for (let number = 0; number < 120; number++) timeline.apply(step(number));
  const moved = paintInto(timeline);
  // To the right and back, by less than a step and by many, through a picture that is held.
  for (const until of [700, 703, 706.5, 740, 741, 900, 1100, 1099, 700, 1193.5]) {
    expect(numDiffering(moved(until), paintInto(timeline)(until)), String(until)).toBe(0);
  }
});

test('a picture that is held stays as it is when further steps come', () => {
  const timeline = new Timeline();
  for (let number = 0; number < 120; number++) timeline.apply(step(number));
  const paint = paintInto(timeline);
  const [, until] = timeline.span(0);
  // Within a pixel, of which the next step could have the rest.
  expect(until * SCALE).not.toBe(Math.ceil(until * SCALE));
  const before = paint(until);
  timeline.apply(step(120));
  expect(numDiffering(paint(until), before)).toBe(0);
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
