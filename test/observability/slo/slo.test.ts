import { describe, expect, it, vi } from 'vitest';
import { serviceClasses } from '../../../src/front/service-classes/service-class.ts';
import type { GenerationRequest } from '../../../src/front/generation/generation.ts';
import { RollingWindow } from '../../../src/observability/slo/rolling-window.ts';
import { sloMetrics } from '../../../src/observability/slo/slo-metrics.ts';
import { SloMonitor } from '../../../src/observability/slo/slo-monitor.ts';
import { SloTracker } from '../../../src/observability/slo/slo-tracker.ts';
import { engineRequest } from '../../support/engine-requests.ts';

const { classes } = serviceClasses({ interactive: { deadlineMs: 5000 } });
const interactive = classes.find(({ name }) => name === 'interactive');

interface Course {
  readonly queuedMs?: number;
  /** Null where it ended before its first token. */
  readonly ttftMs: number | null;
  readonly gapsMs?: readonly number[];
  readonly endedAfterMs?: number;
  readonly outcome?: 'stop' | 'abort' | 'timeout' | 'rejected' | 'error';
}

/** Promised are 500 ms, 50 ms and 5 s. */
function observe(
  tracker: SloTracker,
  { queuedMs = 0, ttftMs, gapsMs = [], endedAfterMs = 0, outcome }: Course,
) {
  const { sampling, promptTokenIds } = engineRequest();
  const request: GenerationRequest = {
    promptTokenIds,
    sampling,
    maxTokens: 9,
    minTokens: 0,
    stop: [],
    includeStopStrInOutput: false,
    stopTokenIds: [],
    ignoreEos: false,
    skipSpecialTokens: true,
    badWords: [],
    logprobs: null,
    promptLogprobs: null,
    ...(interactive && { serviceClass: interactive }),
  };
  const observer = tracker.observe(request);
  let time = 1000;
  observer.queued(time);
  observer.admitted(time + queuedMs);
  time += ttftMs ?? endedAfterMs;
  if (ttftMs !== null) observer.tokens(1, time);
  for (const gap of gapsMs) observer.tokens(1, (time += gap));
  observer.finished(outcome ?? 'stop', time, 0);
}

function recordOf(tracker: SloTracker) {
  const record = tracker.records.find(({ serviceClass }) => serviceClass.name === 'interactive');
  if (record === undefined) throw new Error('there is no such class');
  return record;
}

describe('a rolling window', () => {
  it('has the quantiles of the last values', () => {
    const window = new RollingWindow(100);
    expect(window.quantiles(0.5)).toEqual([NaN]);
    for (let value = 1; value <= 150; value++) window.add(value);
    expect(window.quantiles(0.5, 0.95, 0.99, 1)).toEqual([100, 145, 149, 150]);
    expect(window.size).toBe(100);
  });
});

describe('the tracker', () => {
  it.each([
    [{ ttftMs: 400 }, { ttft: 0, itl: 0, e2e: 0 }, 1],
    [{ ttftMs: 600 }, { ttft: 1, itl: 0, e2e: 0 }, 1],
    // One late token of twenty is within 5%, two are not.
    [{ ttftMs: 1, gapsMs: [...Array(19).fill(10), 60] }, { ttft: 0, itl: 0, e2e: 0 }, 1],
    [{ ttftMs: 1, gapsMs: [...Array(18).fill(10), 60, 60] }, { ttft: 0, itl: 1, e2e: 0 }, 1],
    [{ ttftMs: 1, gapsMs: [5000], outcome: 'abort' }, { ttft: 0, itl: 1, e2e: 1 }, 1],
    [{ ttftMs: 1, outcome: 'abort' }, { ttft: 0, itl: 0, e2e: 0 }, 0],
    // Its client still waited, and waited for its first token for longer than promised.
    [{ ttftMs: null, endedAfterMs: 600, outcome: 'timeout' }, { ttft: 1, itl: 0, e2e: 0 }, 1],
    [{ ttftMs: null, endedAfterMs: 400, outcome: 'timeout' }, { ttft: 0, itl: 0, e2e: 0 }, 1],
    [{ ttftMs: null, endedAfterMs: 600, outcome: 'abort' }, { ttft: 1, itl: 0, e2e: 0 }, 1],
    [{ ttftMs: null, endedAfterMs: 400, outcome: 'abort' }, { ttft: 0, itl: 0, e2e: 0 }, 0],
  ] as const)('of %j counts %j', (course, violations, requests) => {
    const tracker = new SloTracker(classes);
    observe(tracker, course);
    const { numViolations, numRequests } = recordOf(tracker);
    expect({ numViolations, numRequests }).toEqual({
      numViolations: violations,
      numRequests: requests,
    });
  });

  it('shows what it has as metrics', async () => {
    const tracker = new SloTracker(classes);
    for (let count = 1; count <= 100; count++) observe(tracker, { ttftMs: 10 * count });
    const page = await sloMetrics(tracker).metrics();
    for (const line of [
      'chairlift_slo_requests_total{class="interactive"} 100',
      'chairlift_slo_violations_total{class="interactive",slo="ttft"} 50',
      'chairlift_slo_target_seconds{class="interactive",slo="itl"} 0.05',
      'chairlift_slo_target_seconds{class="batch",slo="ttft"} +Inf',
      'chairlift_slo_latency_seconds{class="interactive",slo="ttft",quantile="0.95"} 0.95',
    ]) {
      expect(page).toContain(`${line}\n`);
    }
  });
});

describe('the monitor', () => {
  const calm = { kvCacheUsage: 0.2, numPreemptions: 0 };

  function watch(pressure = calm) {
    const tracker = new SloTracker(classes);
    const logger = { warn: vi.fn(), info: vi.fn() };
    return { tracker, logger, monitor: new SloMonitor(tracker, () => pressure, logger) };
  }

  const many = (tracker: SloTracker, count: number, course: Course) => {
    for (let index = 0; index < count; index++) observe(tracker, course);
  };

  it('warns once while p95 is over its target, and tells when it is kept again', () => {
    const { tracker, logger, monitor } = watch();
    many(tracker, 19, { ttftMs: 900, queuedMs: 800 });
    monitor.check();
    expect(logger.warn).not.toHaveBeenCalled();
    many(tracker, 1, { ttftMs: 900, queuedMs: 800 });
    monitor.check();
    many(tracker, 5, { ttftMs: 900, queuedMs: 800 });
    monitor.check();
    expect(logger.warn).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({
        class: 'interactive',
        slo: 'ttft',
        p95_ms: 900,
        target_ms: 500,
        likely_cause: 'queue',
      }),
      'service class: p95 is over its target',
    );
    many(tracker, 1000, { ttftMs: 100 });
    monitor.check();
    expect(logger.info).toHaveBeenCalledTimes(1);
  });

  it.each([
    [{ ttftMs: 900, queuedMs: 10 }, calm, 'computing'],
    [{ ttftMs: 900, queuedMs: 800 }, { ...calm, kvCacheUsage: 0.95 }, 'memory'],
    [{ ttftMs: 900, queuedMs: 800 }, { ...calm, numPreemptions: 3 }, 'preemption'],
  ])('of %j with %j blames %s', (course, pressure, cause) => {
    const { tracker, logger, monitor } = watch(pressure);
    many(tracker, 20, course);
    monitor.check();
    expect(logger.warn.mock.calls[0]?.[0]).toMatchObject({ likely_cause: cause });
  });

  it('warns when the worst wait far longer than most', () => {
    const { tracker, logger, monitor } = watch();
    many(tracker, 97, { ttftMs: 20 });
    many(tracker, 3, { ttftMs: 300 });
    monitor.check();
    expect(logger.warn).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ slo: 'ttft', p50_ms: 20, p99_ms: 300 }),
      'service class: p99 is over 5 times p50',
    );
  });
});
