// Not vitest's expect: with so many checks, most of the time would be its own.
import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { CostModel } from '../../../src/engine/costs/cost-model.ts';
import { Engine } from '../../../src/engine/engine.ts';
import { SlotCache } from '../../../src/engine/kv-cache/slot-cache.ts';
import { toStepMessage } from '../../../src/engine/process/step-message.ts';
import type { Constraints } from '../../../src/engine/sampling/constraints.ts';
import { Sampler } from '../../../src/engine/sampling/sampler.ts';
import { Scheduler } from '../../../src/engine/scheduling/scheduler.ts';
import type { TokenOutput } from '../../../src/engine/request.ts';
import type { LoopStats } from '../../../src/engine/stats.ts';
import {
  type CellField,
  MAX_TOLD_WAITING,
  type StepRecord,
} from '../../../src/engine/tap/step-record.ts';
import { StepTap } from '../../../src/engine/tap/step-tap.ts';
import { CheckedEngine } from '../../support/checked-engine.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { FAKE_VOCAB_SIZE, FakeDecoder } from '../../support/fake-decoder.ts';
import { RandomDrafts } from '../../support/random-drafts.ts';
import { cellsOf, sentBackOf, type StepCell } from '../../support/step-cells.ts';

const CAPACITY = 96;

const requests = fc.record({
  numPromptTokens: fc.integer({ min: 1, max: 40 }),
  family: fc.nat(1),
  maxTokens: fc.integer({ min: 1, max: 40 }),
  tier: fc.constantFrom(0, 0, 1),
  targetItlMs: fc.constantFrom(null, null, 0.001),
});

const operations = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant('add' as const), request: requests }) },
  { weight: 9, arbitrary: fc.record({ type: fc.constant('step' as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('abort' as const), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('fail' as const), pick: fc.nat() }) },
);

const shapes = fc.record({
  maxNumSeqs: fc.integer({ min: 2, max: 6 }),
  extraTokens: fc.integer({ min: 0, max: 40 }),
  spareSlots: fc.integer({ min: 0, max: 3 }),
  prefixCaching: fc.boolean(),
  maxPages: fc.option(fc.integer({ min: 6, max: 9 }), { nil: undefined }),
  drafts: fc.option(fc.nat(), { nil: undefined }),
});

type ValueOf<Values> = Values extends fc.Arbitrary<infer Value> ? Value : never;
type Shape = ValueOf<typeof shapes>;
type Fields = ValueOf<typeof requests>;

function open(shape: Shape) {
  const { extraTokens, drafts, maxPages, ...rest } = shape;
  return CheckedEngine.withSlots({
    ...rest,
    capacity: CAPACITY,
    maxNumBatchedTokens: rest.maxNumSeqs + extraTokens,
    ...(maxPages === undefined ? {} : { maxPages }),
    ...(drafts === undefined ? {} : { drafts: new RandomDrafts(drafts, true) }),
  });
}

/** How far a request is, by what records say of it. */
interface Followed {
  /** Tokens of its text. */
  length: number;
  /** Where its next cell has to begin; null while it has no slot. */
  next: number | null;
}

/** Engine whose steps are held against its record of them. */
class FollowedEngine {
  readonly checked: ReturnType<typeof open>;
  readonly seen = { sentBack: 0, cached: 0, held: 0, failed: 0, kept: 0, accepted: 0, waiting: 0 };
  readonly #followed = new Map<number, Followed>();

  constructor(shape: Shape) {
    this.checked = open(shape);
    this.checked.engine.watch(1);
  }

  add({ numPromptTokens, family, ...fields }: Fields): void {
    const id = this.#followed.size + 1;
    const promptTokenIds = Int32Array.from({ length: numPromptTokens }, (_, at) => at + family);
    const [priority, arrivalMs] = [100 * fields.tier, id * 1000];
    this.checked.engine.add(engineRequest({ ...fields, id, promptTokenIds, priority, arrivalMs }));
    this.#followed.set(id, { length: numPromptTokens, next: null });
  }

  drop(pick: number, fails: boolean): void {
    const { scheduler, engine, memory } = this.checked;
    const live = [...scheduler.running, ...scheduler.waiting];
    const id = live[pick % Math.max(1, live.length)]?.id;
    if (id === undefined) return;
    if (fails) memory.decoder.failing.add(id);
    else engine.abort(id);
  }

  step(): void {
    const { engine } = this.checked;
    const before = engine.stats;
    const outputs = engine.step();
    const record = engine.takeRecord();
    assert.equal(record === null, engine.stats.numSteps === before.numSteps);
    if (record === null) return;
    assert.equal(record.step, before.numSteps);
    this.#checkCounts(record, before, outputs);
    this.#checkPages(record);
    this.#follow(record);
  }

  #checkCounts(record: StepRecord, before: LoopStats, outputs: readonly TokenOutput[]): void {
    const after = this.checked.engine.stats;
    const [kept, working] = sorted(record);
    assert.equal(sum(working, 'computed'), after.stepTokens);
    for (const { request, sampled } of working) {
      const own = outputs.filter(({ id, tokenId }) => id === request && tokenId >= 0);
      assert.equal(sampled, own.length);
    }
    assert.equal(sum(working, 'sampled'), outputs.filter(({ tokenId }) => tokenId >= 0).length);
    assert.equal(sum(working, 'drafted'), after.numDraftTokens - before.numDraftTokens);
    assert.equal(sum(working, 'accepted'), after.numAcceptedTokens - before.numAcceptedTokens);
    const failed = outputs.filter(({ finishReason }) => finishReason === 'error');
    const told = working.filter(({ work }) => work === 'failed').map(({ request }) => request);
    assert.deepEqual(new Set(told), new Set(failed.map(({ id }) => id)));
    const sentBack = sentBackOf(record);
    const given = (why: string) => sentBack.filter((each) => each.for === why).length;
    assert.equal(given('memory'), after.numPreemptions - before.numPreemptions);
    assert.equal(given('class'), after.numYields - before.numYields);
    this.seen.sentBack += sentBack.length;
    this.seen.failed += failed.length;
    this.seen.kept += kept.length;
    this.seen.waiting += record.numWaiting;
  }

  #checkPages(record: StepRecord): void {
    const [kept, working] = sorted(record);
    const cells = [...kept, ...working];
    assert.equal(new Set(cells.map(({ slot }) => slot)).size, cells.length);
    assert.equal(new Set(working.map(({ request }) => request)).size, working.length);
    const { pages } = record;
    assert.equal(sum(working, 'pages'), pages.running);
    assert.equal(sum(kept, 'pages'), pages.kept);
    assert.ok(pages.running + pages.kept <= pages.total);
  }

  /** Each request goes on where it was, or where the cache's part of it ends. */
  #follow(record: StepRecord): void {
    for (const { id } of sentBackOf(record)) {
      const request = this.#followed.get(id);
      if (request) request.next = null;
    }
    for (const { request, start, computed, sampled, cached, work } of sorted(record)[1]) {
      const own = this.#followed.get(request);
      assert.ok(own !== undefined, `there is no request ${request}`);
      const expected =
        own.next === null ? { start, cached: start } : { start: own.next, cached: 0 };
      assert.deepEqual({ start, cached }, expected);
      own.length += sampled;
      own.next = work === 'held' ? start : Math.min(start + computed, own.length - 1);
      this.seen.held += Number(work === 'held');
    }
    const [, working] = sorted(record);
    this.seen.cached += sum(working, 'cached');
    this.seen.accepted += sum(working, 'accepted');
  }
}

function sorted(record: StepRecord): [kept: StepCell[], working: StepCell[]] {
  const cells = cellsOf(record);
  const isKept = ({ work }: StepCell) => work === 'kept';
  return [cells.filter(isKept), cells.filter((cell) => !isKept(cell))];
}

function sum(cells: readonly StepCell[], field: Exclude<CellField, 'work'>): number {
  return cells.reduce((total, cell) => total + cell[field], 0);
}

describe('a record', () => {
  it('says what the engine did, whatever comes and goes', () => {
    const seen: Record<string, number> = {};
    const scripts = fc.array(operations, { minLength: 20, maxLength: 80 });
    fc.assert(
      fc.property(shapes, scripts, (shape, script) => {
        const followed = new FollowedEngine(shape);
        for (const operation of script) {
          if (operation.type === 'add') followed.add(operation.request);
          else if (operation.type === 'step') followed.step();
          else followed.drop(operation.pick, operation.type === 'fail');
        }
        for (const [what, times] of Object.entries(followed.seen)) {
          seen[what] = (seen[what] ?? 0) + times;
        }
      }),
      { numRuns: 200 },
    );
    // All of it was there.
    expect(Object.entries(seen).filter(([, times]) => times === 0)).toEqual([]);
  });

  it('tells the ids of the first that wait, and how many do', () => {
    const { engine } = open({
      maxNumSeqs: 2,
      extraTokens: 40,
      spareSlots: 0,
      prefixCaching: false,
      maxPages: undefined,
      drafts: undefined,
    });
    for (let id = 1; id <= 100; id++) engine.add(engineRequest({ id, arrivalMs: id }));
    engine.watch(1);
    engine.step();
    const record = engine.takeRecord();
    expect(record).toMatchObject({ numWaiting: 98 });
    expect([...(record?.waiting ?? [])]).toEqual(
      Array.from({ length: MAX_TOLD_WAITING }, (_, place) => place + 3),
    );
  });

  it('tells who waits for its grammar', () => {
    let isLate = true;
    const constraints: Constraints = {
      constrain: (results) => ({ ready: isLate ? [] : results, failures: [] }),
      maskOf: () => 'free',
    };
    const kvCache = new SlotCache({ numSlots: 2, capacity: CAPACITY, prefixCaching: false });
    const costs = new CostModel();
    const options = {
      maxNumSeqs: 2,
      maxNumBatchedTokens: 64,
      targetItlMs: null,
    } as const;
    const engine = new Engine({
      kvCache,
      costs,
      scheduler: new Scheduler(kvCache, costs, options),
      decoder: new FakeDecoder(2, CAPACITY),
      sampler: new Sampler(FAKE_VOCAB_SIZE, constraints),
    });
    engine.watch(1);
    engine.add(engineRequest({ id: 5, promptTokenIds: Int32Array.of(1, 2, 3) }));
    const works = [];
    for (let step = 0; step < 4; step++) {
      isLate = step < 2;
      engine.step();
      const record = engine.takeRecord();
      works.push(...(record === null ? [] : cellsOf(record)));
    }
    expect(
      works.map(({ work, start, computed, sampled }) => [work, start, computed, sampled]),
    ).toEqual([
      ['grammar', 0, 3, 0],
      ['grammar', 2, 1, 0],
      ['prefill', 2, 1, 1],
      ['decode', 3, 1, 1],
    ]);
  });
});

describe('where nobody watches', () => {
  afterEach(() => void vi.restoreAllMocks());

  const shape = {
    maxNumSeqs: 2,
    extraTokens: 8,
    spareSlots: 2,
    prefixCaching: true,
    maxPages: undefined,
    drafts: undefined,
  };

  function counted() {
    const calls = {
      begin: vi.spyOn(StepTap.prototype, 'begin'),
      observe: vi.spyOn(StepTap.prototype, 'observe'),
      pages: vi.spyOn(SlotCache.prototype, 'pages', 'get'),
      keptLength: vi.spyOn(SlotCache.prototype, 'keptLength'),
      expectedMs: vi.spyOn(CostModel.prototype, 'expectedMs'),
    };
    const { engine } = open(shape);
    for (let id = 1; id <= 4; id++) engine.add(engineRequest({ id, maxTokens: 8 }));
    const counts = () =>
      Object.fromEntries(
        Object.entries(calls).map(([name, { mock }]) => [name, mock.calls.length]),
      );
    return { engine, counts };
  }

  it('nothing is looked at, and messages are as they were', () => {
    const { engine, counts } = counted();
    while (engine.hasWork) {
      const message = toStepMessage(engine.step(), engine.stats, engine.takeRecord());
      expect(Object.keys(message)).toEqual(['type', 'tokens', 'details', 'stats']);
    }
    expect(engine.stats.numSteps).toBeGreaterThan(8);
    expect(counts()).toEqual({ begin: 0, observe: 0, pages: 0, keptLength: 0, expectedMs: 0 });
  });

  it('any more, likewise; and between the steps of which a record is wanted', () => {
    const { engine, counts } = counted();
    engine.watch(3);
    const steps: number[] = [];
    for (let step = 0; step < 7; step++) {
      engine.step();
      const record = engine.takeRecord();
      if (record !== null) steps.push(record.step);
    }
    expect(steps).toEqual([0, 3, 6]);
    expect(counts()).toMatchObject({ begin: 7, observe: 7, pages: 3 });
    engine.watch(null);
    while (engine.hasWork) engine.step();
    expect(engine.takeRecord()).toBeNull();
    expect(counts()).toMatchObject({ begin: 7, observe: 7, pages: 3 });
  });
});
