import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { EngineOptions } from '../../../src/engine/process/protocol.ts';
import type { EngineRequest } from '../../../src/engine/request.ts';
import { EngineInstances } from '../../../src/front/engine-process/engine-instances.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import {
  FakeEngineProcess,
  type FakeProcessOptions,
  LOAD_MS,
  PREFILL_STEPS,
  STEP_MS,
  tokenAt,
} from '../../support/fake-engine-process.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** The fake process reads none of them. */
const OPTIONS = {} as EngineOptions;
const MAX_TOKENS = 12;
const ALL_TOKENS_MS = STEP_MS * (PREFILL_STEPS + MAX_TOKENS + 2);

async function startInstances(count: number, options: FakeProcessOptions = {}) {
  const processes: FakeEngineProcess[] = [];
  const instances = new EngineInstances(count, {
    spawn: (_memory, events) => {
      const engineProcess = new FakeEngineProcess(events, options);
      processes.push(engineProcess);
      return engineProcess;
    },
  });
  const started = instances.start(OPTIONS);
  await vi.advanceTimersByTimeAsync(LOAD_MS);
  await started;
  const numRequestsOf = (at: number) =>
    processes[at]?.commands.flatMap((command) => (command.type === 'add' ? command.requests : []))
      .length;
  return { instances, processes, numRequestsOf };
}

function submit(instances: EngineInstances, first: number) {
  const outcome: { tokenIds: number[]; numCached: number; error?: unknown } = {
    tokenIds: [],
    numCached: 0,
  };
  const request = engineRequest({ promptTokenIds: Int32Array.of(first), maxTokens: MAX_TOKENS });
  const read = async () => {
    for await (const batch of instances.generate(request, new AbortController().signal)) {
      outcome.tokenIds.push(...batch.tokenIds);
    }
  };
  void read().catch((error: unknown) => (outcome.error = error));
  return outcome;
}

function textOf(first: number): number[] {
  const request: Pick<EngineRequest, 'promptTokenIds'> = { promptTokenIds: Int32Array.of(first) };
  return Array.from({ length: MAX_TOKENS }, (_, place) => tokenAt(request, place));
}

test('requests go to the least busy instance', async () => {
  const { instances, numRequestsOf } = await startInstances(3);
  for (let first = 0; first < 9; first++) submit(instances, first);
  await vi.advanceTimersByTimeAsync(STEP_MS);
  expect([0, 1, 2].map(numRequestsOf)).toEqual([3, 3, 3]);
});

test('a prompt goes where one that began alike has been, unless that instance is busier', async () => {
  const { instances, numRequestsOf } = await startInstances(2);
  submit(instances, 1);
  submit(instances, 2);
  await vi.advanceTimersByTimeAsync(ALL_TOKENS_MS);
  for (let turn = 0; turn < 3; turn++) {
    submit(instances, 2);
    await vi.advanceTimersByTimeAsync(ALL_TOKENS_MS);
  }
  expect([0, 1].map(numRequestsOf)).toEqual([1, 4]);
  for (let turn = 0; turn < 10; turn++) submit(instances, 2);
  await vi.advanceTimersByTimeAsync(STEP_MS);
  expect(numRequestsOf(0)).toBeGreaterThan(3);
});

describe('when an instance crashes', () => {
  test('its requests go on in another one at once, with the same text', async () => {
    const { instances, processes } = await startInstances(2);
    const outcomes = Array.from({ length: 8 }, (_, first) => submit(instances, first));
    await vi.advanceTimersByTimeAsync(STEP_MS * (PREFILL_STEPS + 4));
    processes[0]?.kill();
    // Sooner than another process has loaded.
    await vi.advanceTimersByTimeAsync(Math.min(ALL_TOKENS_MS, LOAD_MS - STEP_MS));
    expect(outcomes.map(({ tokenIds }) => tokenIds)).toEqual(
      outcomes.map((_, first) => textOf(first)),
    );
    expect(instances.state).toBe('ready');
    expect(instances.numCrashes).toBe(1);
  });

  test('and the other one as well, they go on when one is back', async () => {
    const { instances, processes } = await startInstances(2);
    const outcomes = Array.from({ length: 8 }, (_, first) => submit(instances, first));
    await vi.advanceTimersByTimeAsync(STEP_MS * (PREFILL_STEPS + 4));
    processes[0]?.kill();
    await vi.advanceTimersByTimeAsync(STEP_MS * 2);
    processes[1]?.kill();
    await vi.advanceTimersByTimeAsync(LOAD_MS + ALL_TOKENS_MS);
    expect(outcomes.map(({ tokenIds }) => tokenIds)).toEqual(
      outcomes.map((_, first) => textOf(first)),
    );
  });

  test('over one request, again and again, that request fails and no other', async () => {
    const poison = 99;
    const { instances } = await startInstances(2, {
      crashes: ({ promptTokenIds }, numTokens) => promptTokenIds[0] === poison && numTokens === 2,
    });
    const outcomes = Array.from({ length: 6 }, (_, first) => submit(instances, first));
    const culprit = submit(instances, poison);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(culprit.error).toMatchObject({
      message: 'the engine crashed again and again on this request',
    });
    expect(outcomes.map(({ tokenIds }) => tokenIds)).toEqual(
      outcomes.map((_, first) => textOf(first)),
    );
    expect(instances.state).toBe('ready');
  });
});
