import { Random } from '../../src/bench/random.ts';
import { AGING_MS } from '../../src/engine/request.ts';
import { EventQueue } from './event-queue.ts';
import type { Machine } from './machine.ts';
import { Metrics } from './metrics.ts';
import type { Policy } from './policy.ts';
import type { Recorder } from './recorder.ts';
import { SimulatedEngine } from './simulated-engine.ts';
import { SimulatedFront } from './simulated-front.ts';
import type { Traffic } from './traffic.ts';

export interface SimulationOptions {
  readonly machine: Machine;
  readonly policy: Policy;
  readonly traffic: readonly Traffic[];
  readonly seed: number;
  /** Told of each step; nobody is if left out. */
  readonly recorder?: Recorder | undefined;
  /** Told every so often how far the virtual clock is. */
  readonly onProgress?: (nowMs: number) => void;
}

export interface Outcome {
  readonly metrics: Metrics;
  readonly counters: SimulatedEngine['counters'];
  /** Time of the virtual clock, from start to the last token. */
  readonly elapsedMs: number;
}

const STEPS_PER_PROGRESS = 1000;

/**
 * Serves the traffic to its end on a virtual clock.
 * @throws Error when a token is lost or doubled, counters do not add up, or something is left over
 */
export function simulate(options: SimulationOptions): Outcome {
  const { machine, policy, traffic, seed, onProgress } = options;
  const events = new EventQueue();
  const metrics = new Metrics(machine.serviceLevel);
  const priorityScale = policy.agingMs / AGING_MS;
  const engine = new SimulatedEngine(machine, policy, priorityScale, new Random(seed));
  const front = new SimulatedFront(events, engine, metrics, policy, machine.maxNumSeqs);
  const recorded = { instance: 0, queue: () => front.queue() };
  if (options.recorder) engine.watch(options.recorder, recorded, () => events.nowMs);
  for (const each of traffic) front.play(each);
  for (let steps = 1; ; steps++) {
    const step = engine.step();
    if (step) {
      // Events during the step reach the engine after it.
      events.runUntil(events.nowMs + step.durationMs);
      front.deliver(step.outputs);
      if (steps % STEPS_PER_PROGRESS === 0) onProgress?.(events.nowMs);
    } else if (events.nextMs === Infinity) {
      break;
    } else {
      events.runUntil(events.nextMs);
    }
  }
  engine.checkEmpty();
  front.checkEmpty();
  const { counters } = engine;
  checkCounters(metrics, counters.numSampled, front.numDropped);
  return { metrics, counters, elapsedMs: events.nowMs };
}

function checkCounters(metrics: Metrics, numSampled: number, numDropped: number): void {
  const { numArrived, numFinished, numCancelled, numTokens, ttft, itl } = metrics;
  const isConsistent =
    numArrived === numFinished + numCancelled &&
    numSampled === numTokens + numDropped &&
    numTokens === ttft.count + itl.count;
  if (isConsistent) return;
  throw new Error(
    `counters do not add up: ${numArrived} requests, ${numFinished} finished, ${numCancelled} ` +
      `cancelled; ${numSampled} tokens sampled, ${numTokens} delivered, ${numDropped} dropped`,
  );
}
