import { expect, test } from 'vitest';
import { MACHINES } from '../../scripts/simulate/machines.ts';
import { DEFAULT_POLICY } from '../../scripts/simulate/policy.ts';
import { Recorder } from '../../scripts/simulate/recorder.ts';
import { simulate } from '../../scripts/simulate/simulation.ts';
import { simulateFleet } from '../../scripts/simulate/fleet/fleet.ts';
import { arrivals, shareGptRequest } from '../../scripts/simulate/traffic.ts';
import { Random } from '../../src/bench/random.ts';
import { stepsEvent, type StepsEvent } from '../../src/server/schemas/steps.ts';
import { cellOf } from '../support/step-cells.ts';

const machine = MACHINES['smollm2-135m-cpu'];

function recording(options: { readonly fromMs?: number; readonly maxSteps?: number } = {}) {
  const events: StepsEvent[] = [];
  const write = (line: string) => {
    expect(line.endsWith('}\n')).toBe(true);
    events.push(stepsEvent.parse(JSON.parse(line)));
  };
  const recorder = new Recorder({ name: 'test', fromMs: 0, maxSteps: 1e6, ...options, write });
  return { recorder, events };
}

function run(recorder?: Recorder) {
  const random = new Random(3);
  // Memory for a few requests, so that some are preempted.
  const policy = { ...DEFAULT_POLICY, kvCacheShare: 0.05 };
  const request = () => shareGptRequest(machine.maxModelLen, random);
  const traffic = [arrivals({ count: 60, perSecond: 6 }, random, request)];
  return simulate({ machine, policy, traffic, seed: 3, recorder });
}

test('a recorded simulation is the same as any other, and all of it is in the recording', () => {
  const { recorder, events } = recording();
  const outcome = run(recorder);
  const plain = run();
  expect(outcome.counters).toEqual(plain.counters);
  expect(outcome.elapsedMs).toBe(plain.elapsedMs);
  const steps = events.filter((event) => event.type === 'step');
  expect(steps).toHaveLength(outcome.counters.numSteps);
  const cells = steps
    .flatMap((step) => step.cells.map(cellOf))
    .filter(({ work }) => work !== 'kept');
  const sum = (of: (cell: (typeof cells)[number]) => number) =>
    cells.reduce((total, cell) => total + of(cell), 0);
  expect(sum(({ sampled }) => sampled)).toBe(outcome.counters.numSampled);
  expect(sum(({ computed }) => computed)).toBe(outcome.counters.numComputed);
  const numSentBack = steps.reduce((total, step) => total + step.sent_back.length, 0);
  expect(numSentBack).toBe(outcome.counters.numPreemptions);
  expect(numSentBack).toBeGreaterThan(0);
  const introduced = events.flatMap((event) => (event.type === 'request' ? [event.id] : []));
  expect(new Set(introduced).size).toBe(60);
  expect(new Set(cells.map(({ request }) => request)).size).toBe(60);
  // Steps take virtual time, one after the other.
  const overlaps = steps.filter((step, index) => {
    const before = steps[index - 1];
    return before !== undefined && step.at < before.at + before.ms - 0.01;
  });
  expect(overlaps).toEqual([]);
  expect(events.filter(({ type }) => type === 'queue').length).toBeGreaterThan(10);
});

test('a part of a simulation can be recorded', () => {
  const { recorder, events } = recording({ fromMs: 2000, maxSteps: 10 });
  run(recorder);
  const steps = events.filter((event) => event.type === 'step');
  expect(steps).toHaveLength(10);
  expect(steps[0]?.at).toBeGreaterThanOrEqual(2000);
});

test('a fleet is recorded replica by replica, with those that die', () => {
  const { recorder, events } = recording();
  simulateFleet({
    machine,
    numReplicas: 3,
    shape: 'steady',
    seconds: 20,
    load: 0.5,
    picker: 'round robin',
    seed: 1,
    failures: 1,
    recorder,
  });
  const steps = events.filter((event) => event.type === 'step');
  expect(new Set(steps.map(({ instance }) => instance))).toEqual(new Set([0, 1, 2]));
  const states = events.flatMap((event) => (event.type === 'engine' ? [event.state] : []));
  expect(states).toEqual(['ready', 'ready', 'ready', 'recovering', 'ready']);
});
