import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { BatchEvent } from '../../web/src/views/batch/step-events.ts';
import { IDLE_MS, Timeline } from '../../web/src/views/batch/timeline.ts';

const [PREFILL, DECODE] = [0, 1];

interface Step {
  readonly at: number;
  readonly ms?: number;
  /** Request, its work and tokens. */
  readonly cells?: readonly (readonly [id: number, work: number, sampled?: number])[];
  readonly waiting?: readonly number[];
  readonly sentBack?: readonly (readonly [id: number, slot: number, why: number])[];
}

let number = 0;

function step({ at, ms = 10, cells = [], waiting = [], sentBack = [] }: Step): BatchEvent {
  return {
    type: 'step',
    instance: 0,
    step: number++,
    at,
    ms,
    run_ms: ms,
    predicted_ms: ms,
    cells: cells.map(([id, work, sampled = 0], slot) => [slot, id, work, 0, 1, sampled, 1]),
    waiting,
    num_waiting: waiting.length,
    sent_back: sentBack,
    pages: [16, 100, 10, 0],
  };
}

function request(id: number, arrivedAt: number): BatchEvent {
  const sizes = { prompt_tokens: 8, max_tokens: 4 };
  const name = { request_id: `r${id}`, class: null };
  return { type: 'request', instance: 0, id, ...name, ...sizes, arrived_at: arrivedAt };
}

function queue(at: number, ...waiting: readonly (readonly [id: number, ms: number])[]): BatchEvent {
  return {
    type: 'queue',
    at,
    num_waiting: waiting.length,
    requests: waiting.map(([id, ms]) => ({
      request_id: `r${id}`,
      class: null,
      prompt_tokens: 8,
      waited_ms: ms,
    })),
  };
}

function timelineOf(...events: readonly BatchEvent[]): Timeline {
  const timeline = new Timeline();
  for (const event of events) timeline.apply(event);
  return timeline;
}

const barsOf = (timeline: Timeline) => timeline.bars.between(0, -Infinity, Infinity);

test('a request is one bar, from its arrival to its last token', () => {
  const timeline = timelineOf(
    request(1, 95),
    step({ at: 100, cells: [[1, PREFILL]] }),
    step({ at: 110, cells: [[1, PREFILL, 1]] }),
    step({ at: 120, cells: [[1, DECODE, 1]] }),
    step({ at: 130, cells: [[1, DECODE, 1]] }),
    step({ at: 140 }),
  );
  const [bar] = barsOf(timeline);
  const [first] = timeline.columns(0);
  expect(bar).toMatchObject({
    name: 'r1',
    state: 'ended',
    outputTokens: 3,
    lane: 0,
    arrivedAt: 95,
  });
  expect(bar?.segments.map(({ phase }) => phase)).toEqual(['queue', 'prefill', 'decode']);
  expect(bar?.from).toBe((first?.from ?? 0) - 5);
  expect((bar?.to ?? 0) - (first?.from ?? 0)).toBeCloseTo(40);
  // Phases touch, and nothing is left out.
  expect(bar?.segments[0]?.from).toBe(bar?.from);
  bar?.segments.forEach((segment, index) => {
    expect(segment.from).toBe(bar.segments[index - 1]?.to ?? bar.from);
  });
});

test('what waits in the queue is a bar at once, the same that it is later', () => {
  const timeline = timelineOf(
    request(1, 90),
    step({ at: 100, cells: [[1, DECODE]] }),
    queue(108, [2, 30]),
    step({ at: 110, cells: [[1, DECODE]] }),
  );
  const waiting = barsOf(timeline).find(({ name }) => name === 'r2');
  expect(waiting).toMatchObject({ state: 'waiting', segments: [{ phase: 'queue' }] });
  timeline.apply(queue(118));
  timeline.apply(request(2, 119));
  timeline.apply(step({ at: 120, cells: [[2, PREFILL]] }));
  const bars = barsOf(timeline);
  expect(bars.map(({ name }) => name)).toEqual(['r1', 'r2']);
  // From the queue, not only from its place in the engine.
  expect(bars[1]).toMatchObject({ number: waiting?.number, state: 'running', arrivedAt: 78 });
  expect(bars[1]?.segments.map(({ phase }) => phase)).toEqual(['queue', 'prefill']);
});

test('who leaves the queue without a place ends there', () => {
  const timeline = timelineOf(
    step({ at: 0, cells: [[1, DECODE]] }),
    queue(5, [2, 0]),
    step({ at: 10, cells: [[1, DECODE]] }),
    queue(15),
    step({ at: 20, cells: [[1, DECODE]] }),
    step({ at: 1100, cells: [[1, DECODE]] }),
    step({ at: 1120, cells: [[1, DECODE]] }),
  );
  expect(barsOf(timeline).find(({ name }) => name === 'r2')).toMatchObject({ state: 'ended' });
});

test('a request that gives up its slot waits, and is the same bar when it goes on', () => {
  const timeline = timelineOf(
    step({ at: 0, cells: [[1, DECODE, 1]] }),
    step({ at: 10, cells: [[2, PREFILL]], sentBack: [[1, 0, 0]] }),
    step({ at: 20, cells: [[2, DECODE]] }),
    step({ at: 30, cells: [[1, PREFILL]] }),
    step({ at: 40, cells: [[1, DECODE, 1]] }),
  );
  const bar = barsOf(timeline).find(({ id }) => id === 1);
  expect(bar?.segments.map(({ phase }) => phase)).toEqual(['decode', 'queue', 'prefill', 'decode']);
  expect(bar?.gaveUp).toMatchObject([{ why: 'memory' }]);
});

test('without further steps what ran has ended; if it has not, it is the same bar again', () => {
  const timeline = timelineOf(
    step({ at: 0, cells: [[1, DECODE, 1]] }),
    step({ at: 10, cells: [[1, DECODE, 1]] }),
  );
  const [bar] = barsOf(timeline);
  const [, last] = timeline.columns(0);
  expect(bar?.state).toBe('running');
  if (last !== undefined) timeline.settle(last);
  expect(bar).toMatchObject({ state: 'ended', lastAt: 20, to: last?.to });
  timeline.apply(step({ at: 3000, cells: [[1, DECODE, 1]] }));
  expect(barsOf(timeline)).toHaveLength(1);
  expect(bar).toMatchObject({ state: 'running', outputTokens: 3 });
});

test('idle time is cut out, and what a column shows belongs to its time', () => {
  const timeline = timelineOf(
    step({ at: 0, ms: 10 }),
    step({ at: 12, ms: 10 }),
    step({ at: 10_000, ms: 10 }),
  );
  const [first, second, third] = timeline.columns(0);
  // Two milliseconds between two steps belong to the second.
  expect(second?.from).toBe(first?.to);
  expect((second?.to ?? 0) - (second?.from ?? 0)).toBeCloseTo(12);
  expect((third?.from ?? 0) - (second?.to ?? 0)).toBe(IDLE_MS);
  expect(third?.cutMs).toBeCloseTo(10_000 - 22 - IDLE_MS);
  for (const column of timeline.columns(0)) {
    expect(timeline.columnBy(0, column.from)).toBe(column);
    expect(timeline.columnBy(0, (column.from + column.to) / 2)).toBe(column);
    expect(timeline.columnsBetween(0, column.from, column.to)).toEqual([column]);
  }
});

test('whatever happens, no two bars of a lane overlap, and every step is in the bar of its request', () => {
  const cell = fc.tuple(fc.integer({ min: 1, max: 6 }), fc.constantFrom(PREFILL, DECODE));
  const moment = fc.record({
    gap: fc.integer({ min: 0, max: 400 }),
    cells: fc.uniqueArray(cell, { selector: ([id]) => id, maxLength: 5 }),
    queued: fc.uniqueArray(fc.integer({ min: 1, max: 6 }), { maxLength: 3 }),
    sent: fc.option(fc.integer({ min: 1, max: 6 }), { nil: null }),
  });
  fc.assert(
    fc.property(fc.array(moment, { minLength: 1, maxLength: 40 }), (moments) => {
      const timeline = new Timeline();
      let at = 1000;
      for (const { gap, cells, queued, sent } of moments) {
        at += gap;
        timeline.apply(queue(at, ...queued.map((id) => [id, 50] as const)));
        for (const [id] of cells) timeline.apply(request(id, at - 20));
        const present = new Set(cells.map(([id]) => id));
        const sentBack = sent === null || present.has(sent) ? [] : [[sent, 0, 0] as const];
        timeline.apply(step({ at, ms: 10, cells, sentBack }));
        at += 10;
      }
      const bars = barsOf(timeline);
      for (const bar of bars) {
        for (const other of bars) {
          if (other === bar || other.lane !== bar.lane) continue;
          const isApart = other.to <= bar.from + 1e-6 || bar.to <= other.from + 1e-6;
          expect(isApart, `${bar.name} and ${other.name}`).toBe(true);
        }
        bar.segments.forEach((segment, index) => {
          expect(segment.from).toBe(bar.segments[index - 1]?.to ?? bar.from);
          expect(segment.to).toBeGreaterThan(segment.from);
        });
      }
      for (const column of timeline.columns(0)) {
        for (const { request: id } of column.cells) {
          const middle = (column.from + column.to) / 2;
          const own = bars.filter(
            (bar) =>
              bar.id === id &&
              bar.segments.some(
                ({ phase, from, to }) => phase !== 'queue' && from <= middle && middle <= to,
              ),
          );
          expect(own).toHaveLength(1);
        }
      }
    }),
    { numRuns: 300 },
  );
});

test('what is forgotten of columns is forgotten of bars', () => {
  const timeline = new Timeline();
  for (let index = 0; index < 5000; index++) {
    const first = Math.floor(index / 10) * 100;
    const cells = Array.from({ length: 100 }, (_, cell) => [first + cell + 1, DECODE, 1] as const);
    timeline.apply(step({ at: index * 10, cells }));
  }
  expect(timeline.columns(0).length * 100).toBeLessThanOrEqual(400_000);
  const oldest = timeline.columns(0)[0]?.from ?? 0;
  expect(oldest).toBeGreaterThan(0);
  expect(Math.min(...barsOf(timeline).map(({ to }) => to))).toBeGreaterThanOrEqual(oldest);
});
