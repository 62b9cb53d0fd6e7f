import type { EngineRequest, TokenOutput } from '../../src/engine/request.ts';
import { AGING_MS } from '../../src/engine/request.ts';
import { FairQueue } from '../../src/front/queue/fair-queue.ts';
import { engineRequest } from '../../test/support/engine-requests.ts';
import { LIMITS } from '../../src/limits.ts';
import { TierCounts } from '../../src/front/queue/tier-counts.ts';
import type { EventQueue } from './event-queue.ts';
import { madeUpToken } from './made-up-tokens.ts';
import type { Metrics, Timeline } from './metrics.ts';
import type { Policy } from './policy.ts';
import type { RecordedEngine } from './recorder.ts';
import type { SimulatedRequest, Traffic } from './traffic.ts';

/** From one process to the other: what is decided on a step's outcome misses the next step. */
const MESSAGE_MS = 0.3;
/** The bound on the output that clients give who don't know how long it will be. */
const ASKED_TOKENS = 1024;

/** Methods of the engine that the front calls. */
export interface EnginePort {
  add(request: EngineRequest): void;
  abort(id: number): void;
}

interface Live {
  readonly request: SimulatedRequest;
  readonly timeline: Timeline;
  readonly arrivedAt: number;
  numTokens: number;
  holdsPlace: boolean;
}

/** Queue, places and clients: lets requests into the engine and checks every token that comes back. */
export class SimulatedFront {
  readonly #events: EventQueue;
  readonly #engine: EnginePort;
  readonly #metrics: Metrics;
  readonly #policy: Policy;
  readonly #numPlaces: number;
  readonly #queue: FairQueue;
  readonly #live = new Map<number, Live>();
  readonly #route: (request: SimulatedRequest) => void;
  /** Places taken. */
  readonly #taken = new TierCounts();
  #nextId = 1;
  /** Arrived, and neither done nor given up. */
  #numOutstanding = 0;
  #numDropped = 0;

  /** @param route where a client sends what comes next; here if left out */
  constructor(
    events: EventQueue,
    engine: EnginePort,
    metrics: Metrics,
    policy: Policy,
    maxNumSeqs: number,
    route?: (request: SimulatedRequest) => void,
  ) {
    this.#events = events;
    this.#engine = engine;
    this.#metrics = metrics;
    this.#policy = policy;
    this.#route = route ?? ((request) => this.arrive(request));
    this.#numPlaces = maxNumSeqs + Math.ceil(policy.lookahead * maxNumSeqs);
    // The queue's own aging time is a constant: another one is the same at another pace.
    this.#queue = new FairQueue(() => (events.nowMs * AGING_MS) / policy.agingMs);
  }

  /** Tokens that came for requests already given up. */
  get numDropped(): number {
    return this.#numDropped;
  }

  /** Requests that have no place in the engine yet. */
  get numWaiting(): number {
    return this.#queue.size;
  }

  /** Those that wait, for a recorder. */
  queue(): ReturnType<RecordedEngine['queue']> {
    const first = [...this.#live].filter(([, { holdsPlace }]) => !holdsPlace);
    return {
      num_waiting: this.#queue.size,
      requests: first.slice(0, LIMITS.watchedQueue).map(([id, { request, arrivedAt }]) => ({
        request_id: nameOf(id, request),
        class: request.group,
        prompt_tokens: request.promptTokenIds.length,
        waited_ms: this.#events.nowMs - arrivedAt,
      })),
    };
  }

  /** Arrived, and neither done nor given up. */
  get numOutstanding(): number {
    return this.#numOutstanding;
  }

  /** Schedules the next request of the traffic, which then schedules the one after it. */
  play(traffic: Traffic): void {
    const remaining = traffic[Symbol.iterator]();
    const scheduleNext = (): void => {
      const { value, done } = remaining.next();
      if (done === true) return;
      this.#events.schedule(value.atMs, () => {
        this.arrive(value.request);
        scheduleNext();
      });
    };
    scheduleNext();
  }

  /** @param timeline of a request that came to another front first */
  arrive(
    request: SimulatedRequest,
    timeline = this.#metrics.arrived(request.group, this.#events.nowMs),
  ): void {
    if (request.group === this.#policy.without) return;
    const id = this.#nextId++;
    const arrivedAt = this.#events.nowMs;
    const live = { request, timeline, arrivedAt, numTokens: 0, holdsPlace: false };
    this.#live.set(id, live);
    this.#numOutstanding++;
    this.#queue.enqueue(() => Promise.resolve(this.#submit(id, live)), {
      id: String(id),
      client: this.#policy.queue === 'fair' ? request.client : '',
      level: this.#policy.queue === 'fair' ? request.priority + this.#serviceOf(request).tier : 0,
      tier: this.#serviceOf(request).tier,
      cost: request.promptTokenIds.length + ASKED_TOKENS,
    });
    if (request.patienceMs !== undefined) {
      this.#events.schedule(this.#events.nowMs + request.patienceMs, () => this.#giveUp(id));
    }
    this.#admit();
  }

  /**
   * The machine is gone.
   * @returns what was not begun, which a balancer may send elsewhere; the rest is cut
   */
  fail(): { readonly request: SimulatedRequest; readonly timeline: Timeline }[] {
    const all = [...this.#live.values()];
    this.#live.clear();
    const notBegun = all.filter(({ numTokens }) => numTokens === 0);
    for (let cut = notBegun.length; cut < all.length; cut++) this.#metrics.cut();
    return notBegun;
  }

  /** @throws Error when a token was lost, doubled or changed */
  deliver(outputs: readonly TokenOutput[]): void {
    const now = this.#events.nowMs;
    for (const { id, tokenId, finishReason } of outputs) {
      const live = this.#live.get(id);
      if (!live) {
        this.#numDropped++;
        continue;
      }
      const { request, timeline } = live;
      const isLast = live.numTokens + 1 === request.outputTokens;
      if (tokenId !== madeUpToken(id, live.numTokens) || isLast !== (finishReason !== null)) {
        throw new Error(`request ${id} got a wrong token at ${live.numTokens}: ${tokenId}`);
      }
      live.numTokens++;
      this.#metrics.token(timeline, now);
      if (isLast) this.#finish(id, live);
    }
    this.#admit();
  }

  /** @throws Error when anything is left of requests that are all done */
  checkEmpty(): void {
    if (this.#live.size + this.#queue.size + this.#taken.total + this.#numOutstanding === 0) return;
    throw new Error(
      `the front is not empty: ${this.#live.size} live, ${this.#queue.size} waiting, ` +
        `${this.#taken.total} places taken, ${this.#numOutstanding} outstanding`,
    );
  }

  #admit(): void {
    for (;;) {
      const start = this.#queue.dequeue((tier) => this.#taken.upTo(tier) < this.#numPlaces);
      if (start === undefined) return;
      void start();
    }
  }

  #submit(id: number, live: Live): void {
    const { promptTokenIds, outputTokens: maxTokens } = live.request;
    const service = this.#serviceOf(live.request);
    const priority = live.request.priority + service.tier;
    live.holdsPlace = true;
    this.#taken.add(service.tier, 1);
    const arrivalMs = this.#events.nowMs;
    const label = { requestId: nameOf(id, live.request), serviceClass: live.request.group };
    const fields = { id, promptTokenIds, maxTokens, priority, arrivalMs, label };
    const request = engineRequest({ ...fields, ...service });
    this.#events.schedule(arrivalMs + MESSAGE_MS, () => this.#engine.add(request));
  }

  #finish(id: number, live: Live): void {
    this.#metrics.finished(live.timeline);
    this.#leave(id, live);
    const next = live.request.followUp?.(id);
    if (!next) return;
    this.#events.schedule(this.#events.nowMs + next.afterMs, () => this.#route(next.request));
  }

  #giveUp(id: number): void {
    const live = this.#live.get(id);
    if (!live) return;
    this.#metrics.cancelled();
    if (live.holdsPlace) {
      this.#events.schedule(this.#events.nowMs + MESSAGE_MS, () => this.#engine.abort(id));
    } else {
      this.#queue.remove(String(id));
    }
    this.#leave(id, live);
    this.#admit();
  }

  #leave(id: number, live: Live): void {
    this.#live.delete(id);
    this.#numOutstanding--;
    if (live.holdsPlace) this.#taken.add(this.#serviceOf(live.request).tier, -1);
  }

  #serviceOf({ service }: SimulatedRequest): NonNullable<SimulatedRequest['service']> {
    return (this.#policy.hasClasses ? service : undefined) ?? { tier: 0, targetItlMs: null };
  }
}

function nameOf(id: number, { client, group }: SimulatedRequest): string {
  return `${client || group}-${id}`;
}
