import { AGING_MS } from '../../../src/engine/request.ts';
import type { Random } from '../../../src/bench/random.ts';
import type { EventQueue } from '../event-queue.ts';
import type { Machine } from '../machine.ts';
import type { Metrics, Timeline } from '../metrics.ts';
import type { Policy } from '../policy.ts';
import type { Recorder } from '../recorder.ts';
import { SimulatedEngine } from '../simulated-engine.ts';
import { SimulatedFront } from '../simulated-front.ts';
import type { SimulatedRequest } from '../traffic.ts';

export interface ReplicaParts {
  readonly events: EventQueue;
  readonly metrics: Metrics;
  readonly machine: Machine;
  readonly policy: Policy;
  readonly random: Random;
  /** Where clients send what comes next. */
  readonly route: (request: SimulatedRequest) => void;
  /** Told of each step; nobody is if left out. */
  readonly recorder?: Recorder | undefined;
}

/** State by a scrape of its metrics. */
export interface ReplicaState {
  readonly numWaiting: number;
  readonly kvCacheUsage: number;
}

/** A server of the fleet: front and engine, with steps as events of the fleet's clock. */
export class Replica {
  readonly index: number;
  readonly #events: EventQueue;
  readonly #engine: SimulatedEngine;
  readonly #front: SimulatedFront;
  readonly #recordCrash: (() => void) | undefined;
  #isStepping = false;
  #isGone = false;

  constructor(index: number, parts: ReplicaParts) {
    const { events, metrics, machine, policy, random, route, recorder } = parts;
    this.index = index;
    this.#events = events;
    this.#engine = new SimulatedEngine(machine, policy, policy.agingMs / AGING_MS, random);
    const port = {
      add: (request: Parameters<SimulatedEngine['add']>[0]) => {
        if (this.#isGone) return;
        this.#engine.add(request);
        this.#step();
      },
      abort: (id: number) => this.#engine.abort(id),
    };
    const { maxNumSeqs } = machine;
    this.#front = new SimulatedFront(events, port, metrics, policy, maxNumSeqs, route);
    const queue = () => this.#front.queue();
    const recorded = { instance: index, queue };
    this.#recordCrash = recorder && this.#engine.watch(recorder, recorded, () => events.nowMs);
  }

  /** Requests that it has, waiting or running. */
  get numOutstanding(): number {
    return this.#front.numOutstanding;
  }

  get state(): ReplicaState {
    return { numWaiting: this.#front.numWaiting, kvCacheUsage: this.#engine.kvCacheUsage };
  }

  get counters() {
    return this.#engine.counters;
  }

  arrive(request: SimulatedRequest, timeline?: Timeline): void {
    this.#front.arrive(request, timeline);
  }

  /** @returns what was not begun */
  fail(): { readonly request: SimulatedRequest; readonly timeline: Timeline }[] {
    this.#isGone = true;
    this.#recordCrash?.();
    return this.#front.fail();
  }

  /** @throws Error when anything is left of requests that are all done */
  checkEmpty(): void {
    this.#engine.checkEmpty();
    this.#front.checkEmpty();
  }

  #step(): void {
    if (this.#isStepping || this.#isGone) return;
    const step = this.#engine.step();
    if (!step) return;
    this.#isStepping = true;
    this.#events.schedule(this.#events.nowMs + step.durationMs, () => {
      if (this.#isGone) return;
      this.#isStepping = false;
      this.#front.deliver(step.outputs);
      this.#step();
    });
  }
}
