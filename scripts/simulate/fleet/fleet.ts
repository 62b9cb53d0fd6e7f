import { Random } from '../../../src/bench/random.ts';
import { EventQueue } from '../event-queue.ts';
import { Metrics, type Timeline } from '../metrics.ts';
import { DEFAULT_POLICY } from '../policy.ts';
import type { Recorder } from '../recorder.ts';
import type { SimulatedRequest } from '../traffic.ts';
import { PICKERS } from './pickers.ts';
import { Replica } from './replica.ts';
import { conversations, type FleetLoad } from './traffic.ts';

export type PickerName = keyof typeof PICKERS;

export interface FleetOptions extends FleetLoad {
  readonly picker: PickerName;
  readonly seed: number;
  /** Replicas that die, each at its own time. */
  readonly failures: number;
  /** Told of each replica's steps; nobody is if left out. */
  readonly recorder?: Recorder | undefined;
}

export interface FleetOutcome {
  readonly metrics: Metrics;
  readonly prefixHitRate: number;
  /** Sent again to another replica, since nothing of them had begun. */
  readonly numRetried: number;
  /** Tokens of the busiest replica in terms of the mean, of those that lived all the time. */
  readonly imbalance: number;
  /** Time of the virtual clock, from start to the last token. */
  readonly elapsedMs: number;
}

/** From death to an empty replica in its place. */
const RESTART_MS = 20_000;
/** Until a balancer sees that a replica is gone; meanwhile connections are refused. */
const DETECTION_MS = 1000;

/**
 * Replicas with the real scheduler, cache and queue behind a balancer, on one virtual clock.
 * @throws Error when a token is lost or doubled, counters do not add up, or something is left over
 */
export function simulateFleet(options: FleetOptions): FleetOutcome {
  const { machine, numReplicas, seconds, picker: pickerName, seed, failures } = options;
  const events = new EventQueue();
  const metrics = new Metrics(machine.serviceLevel);
  // Traffic must not depend on what the picker draws.
  const picker = PICKERS[pickerName](new Random(seed + 1));
  const noise = new Random(seed + 2);
  const dead: Replica[] = [];
  let numRetried = 0;

  const route = (request: SimulatedRequest, timeline?: Timeline): void => {
    picker.pick(request, up, events.nowMs).arrive(request, timeline);
  };
  const policy = DEFAULT_POLICY;
  const { recorder } = options;
  const parts = { events, metrics, machine, policy, random: noise, route, recorder };
  const start = (index: number) => new Replica(index, parts);
  let up: readonly Replica[] = Array.from({ length: numReplicas }, (_, index) => start(index));

  const fail = (index: number): void => {
    const replica = up.find((each) => each.index === index);
    if (!replica || up.length === 1) return;
    up = up.filter((each) => each !== replica);
    dead.push(replica);
    for (const { request, timeline } of replica.fail()) {
      numRetried++;
      events.schedule(events.nowMs + DETECTION_MS, () => route(request, timeline));
    }
    events.schedule(events.nowMs + RESTART_MS, () => (up = [...up, start(index)]));
  };
  for (let count = 0; count < failures; count++) {
    const atMs = ((count + 0.5) / failures) * seconds * 1000;
    events.schedule(atMs, () => fail((count * 7919) % numReplicas));
  }

  const arrivals = conversations(options, new Random(seed))[Symbol.iterator]();
  const scheduleNext = (): void => {
    const { value, done } = arrivals.next();
    if (done === true) return;
    events.schedule(value.atMs, () => {
      route(value.request);
      scheduleNext();
    });
  };
  scheduleNext();
  while (events.nextMs !== Infinity) events.runUntil(events.nextMs);

  for (const replica of up) replica.checkEmpty();
  const { numArrived, numFinished, numCut, numTokens, ttft, itl } = metrics;
  if (numArrived !== numFinished + numCut || numTokens !== ttft.count + itl.count) {
    throw new Error(`counters do not add up: ${numArrived}, ${numFinished}, ${numCut}`);
  }
  const counters = [...up, ...dead].map((replica) => replica.counters);
  const sum = (of: (each: (typeof counters)[number]) => number) =>
    counters.reduce((total, each) => total + of(each), 0);
  const sampled = up.map((replica) => replica.counters.numSampled);
  return {
    metrics,
    prefixHitRate: sum((each) => each.prefixCacheHits) / sum((each) => each.prefixCacheQueries),
    numRetried,
    imbalance: (Math.max(...sampled) * sampled.length) / sampled.reduce((a, b) => a + b, 0),
    elapsedMs: events.nowMs,
  };
}
