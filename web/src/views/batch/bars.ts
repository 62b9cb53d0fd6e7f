/** Each request as one bar: from its arrival, over its wait and its prompt, to its last token. */
import type { Cell, Work } from './cell.ts';
import type { QueueEvent, RequestEvent } from './step-events.ts';
import type { Column } from './column.ts';

/** `queue`: waits for a place. `held`: has one and no part in the step, or waits for its grammar. */
export type Phase = 'queue' | 'prefill' | 'decode' | 'held';

export interface Segment {
  readonly phase: Phase;
  /** On the picture's clock. */
  readonly from: number;
  to: number;
}

export interface Bar {
  /** Counts bars: neighbors have different colors by it. */
  readonly number: number;
  readonly instance: number;
  /** Number in the engine; -1 while it has none. */
  id: number;
  /** Its `x-request-id`, or its number in the engine. */
  readonly name: string;
  /** Lane of the picture: no two bars of a lane overlap. */
  readonly lane: number;
  /** On the picture's clock. */
  readonly from: number;
  to: number;
  readonly segments: Segment[];
  class: string | null;
  promptTokens: number;
  /** 0 while it is not known. */
  maxTokens: number;
  cachedTokens: number;
  outputTokens: number;
  /** Unix times in milliseconds; null for what has not happened, or was not seen. */
  arrivedAt: number | null;
  startedAt: number | null;
  firstTokenAt: number | null;
  /** End of the last step that it had a part in. */
  lastAt: number | null;
  state: 'waiting' | 'running' | 'ended' | 'failed';
  /** Times at which it lost its slot, and for what. */
  readonly gaveUp: { readonly time: number; readonly why: 'memory' | 'class' }[];
}

const PHASES: Readonly<Record<Exclude<Work, 'kept' | 'failed'>, Phase>> = {
  prefill: 'prefill',
  decode: 'decode',
  verify: 'decode',
  grammar: 'held',
  held: 'held',
};

/** Facts about the picture's clock that bars must know. */
interface Clock {
  readonly instances: readonly number[];
  readonly timeOf: (instance: number, at: number) => number;
  readonly request: (instance: number, id: number) => RequestEvent | undefined;
}

/** A request that is in the queue no more, and not in the engine after so long, has gone. */
const GONE_MS = 1000;

/** A request that has no place in the engine yet. */
interface Queued {
  readonly bar: Bar;
  /** Unix time at which the queue had it no more; null while it has. */
  missingSince: number | null;
}

export class Bars {
  /** In the order in which they were first seen. */
  #all: Bar[] = [];
  /** Those that have not ended, by instance and id. */
  readonly #open = new Map<string, Bar>();
  /** The others, likewise. */
  readonly #ended = new Map<string, Bar>();
  /** By instance, for each lane: until when it is taken. */
  readonly #lanes = new Map<number, number[]>();
  /** By request id. */
  readonly #queued = new Map<string, Queued>();
  #number = 0;

  /** @returns those of which a part lies between two times */
  between(instance: number, from: number, to: number): Bar[] {
    return this.#all.filter((bar) => bar.instance === instance && bar.to >= from && bar.from <= to);
  }

  byNumber(number: number): Bar | undefined {
    return this.#all.find((bar) => bar.number === number);
  }

  /** Those whose names have a text in them, the newest first. */
  named(instance: number, text: string): Bar[] {
    const wanted = text.trim().toLowerCase();
    if (wanted === '') return [];
    const isNamed = (bar: Bar) =>
      bar.instance === instance && bar.name.toLowerCase().includes(wanted);
    return this.#all.filter(isNamed).toReversed();
  }

  numLanes(instance: number): number {
    return this.#lanes.get(instance)?.length ?? 0;
  }

  takeQueue(event: QueueEvent, clock: Clock): void {
    const { at, requests, num_waiting: numWaiting } = event;
    const [instance = 0] = clock.instances;
    const listed = new Set(requests.map(({ request_id: id }) => id));
    for (const request of requests) {
      if (this.#queued.has(request.request_id)) continue;
      const arrivedAt = at - request.waited_ms;
      const time = clock.timeOf(instance, arrivedAt);
      const bar = this.#newBar(instance, request.request_id, time);
      bar.arrivedAt = arrivedAt;
      bar.class = request.class;
      bar.promptTokens = request.prompt_tokens;
      this.#queued.set(request.request_id, { bar, missingSince: null });
    }
    // The list may have the first ones alone.
    if (listed.size < numWaiting) return;
    for (const [id, queued] of this.#queued) if (!listed.has(id)) queued.missingSince ??= at;
  }

  takeStep(column: Column, clock: Clock): void {
    const { event, cells, from } = column;
    const { instance } = event;
    const present = new Set<string>();
    for (const [id, , reason] of event.sent_back) {
      const bar = this.#open.get(`${instance}:${id}`);
      if (bar === undefined) continue;
      bar.state = 'waiting';
      bar.gaveUp.push({ time: from, why: reason === 0 ? 'memory' : 'class' });
    }
    for (const cell of cells) {
      if (cell.request === 0) continue;
      const key = `${instance}:${cell.request}`;
      present.add(key);
      this.#takeCell(this.#barOf(key, cell.request, column, clock), cell, column);
    }
    for (const id of event.waiting) {
      const key = `${instance}:${id}`;
      if (present.has(key)) continue;
      present.add(key);
      const bar = this.#barOf(key, id, column, clock);
      bar.state = 'waiting';
      extend(bar, 'queue', column.to);
    }
    for (const [key, bar] of this.#open) {
      if (bar.instance !== instance || present.has(key)) continue;
      if (bar.state === 'waiting' && bar.gaveUp.length > 0) extend(bar, 'queue', column.to);
      else this.#end(key, bar);
    }
    for (const [id, { bar, missingSince }] of this.#queued) {
      if (bar.instance !== instance) continue;
      extend(bar, 'queue', column.to);
      if (missingSince === null || event.at - missingSince < GONE_MS) continue;
      this.#queued.delete(id);
      this.#close(bar);
    }
  }

  /** No step has come for a while: what ran has ended with the last one. */
  settle(last: Column): void {
    for (const [key, bar] of this.#open) {
      const isLast = bar.instance === last.event.instance && bar.state === 'running';
      if (isLast) this.#end(key, bar);
    }
  }

  /** Forgets what ended before a time. */
  forget(instance: number, before: number): void {
    this.#all = this.#all.filter((bar) => bar.instance !== instance || bar.to >= before);
    for (const [key, bar] of this.#ended) {
      if (bar.instance === instance && bar.to < before) this.#ended.delete(key);
    }
  }

  #takeCell(bar: Bar, cell: Cell, { to, event }: Column): void {
    const { work } = cell;
    bar.startedAt ??= event.at;
    bar.lastAt = event.at + event.ms;
    if (cell.cached > 0) bar.cachedTokens = cell.cached;
    if (cell.sampled > 0) bar.firstTokenAt ??= event.at + event.ms;
    bar.outputTokens += cell.sampled;
    if (work === 'failed') {
      extend(bar, 'held', to);
      bar.state = 'failed';
    } else if (work !== 'kept') {
      bar.state = 'running';
      extend(bar, PHASES[work], to);
    }
  }

  #barOf(key: string, id: number, { event, from }: Column, clock: Clock): Bar {
    const known = this.#open.get(key) ?? this.#reopened(key, from);
    if (known !== null) return known;
    const { instance } = event;
    const request = clock.request(instance, id);
    const name = request?.request_id ?? String(id);
    const queued = this.#queued.get(name);
    const arrivedAt = queued?.bar.arrivedAt ?? request?.arrived_at ?? null;
    const since = arrivedAt === null ? from : clock.timeOf(instance, arrivedAt);
    // One that was out of sight for a while, as after lost steps, begins where it was seen last.
    const arrived = Math.min(from, Math.max(since, this.#ended.get(key)?.to ?? -Infinity));
    // With several processes, the queue did not know which one it would come to.
    const isHere = queued?.bar.instance === instance;
    const bar = isHere ? queued.bar : this.#newBar(instance, name, arrived);
    if (queued !== undefined) {
      this.#queued.delete(name);
      if (!isHere) this.#forgetBar(queued.bar);
    }
    bar.id = id;
    bar.arrivedAt = arrivedAt;
    bar.class = request?.class ?? null;
    bar.promptTokens = request?.prompt_tokens ?? 0;
    bar.maxTokens = request?.max_tokens ?? 0;
    if (bar.to < from) extend(bar, 'queue', from);
    this.#open.set(key, bar);
    return bar;
  }

  /** One that was thought to have ended, and has not. */
  #reopened(key: string, from: number): Bar | null {
    const bar = this.#ended.get(key);
    const lanes = this.#lanes.get(bar?.instance ?? 0) ?? [];
    if (bar === undefined || lanes[bar.lane] !== bar.to) return null;
    this.#ended.delete(key);
    this.#open.set(key, bar);
    lanes[bar.lane] = Infinity;
    extend(bar, 'held', from);
    return bar;
  }

  #newBar(instance: number, name: string, from: number): Bar {
    const bar: Bar = {
      number: this.#number++,
      instance,
      id: -1,
      name,
      lane: this.#takeLane(instance, from),
      from,
      to: from,
      segments: [],
      class: null,
      promptTokens: 0,
      maxTokens: 0,
      cachedTokens: 0,
      outputTokens: 0,
      arrivedAt: null,
      startedAt: null,
      firstTokenAt: null,
      lastAt: null,
      state: 'waiting',
      gaveUp: [],
    };
    this.#all.push(bar);
    return bar;
  }

  #forgetBar(bar: Bar): void {
    this.#all = this.#all.filter((each) => each !== bar);
    const lanes = this.#lanes.get(bar.instance) ?? [];
    lanes[bar.lane] = bar.from;
  }

  /** It has had its last part. */
  #end(key: string, bar: Bar): void {
    this.#open.delete(key);
    this.#ended.set(key, bar);
    this.#close(bar);
  }

  #close(bar: Bar): void {
    if (bar.state !== 'failed') bar.state = 'ended';
    const lanes = this.#lanes.get(bar.instance) ?? [];
    lanes[bar.lane] = bar.to;
  }

  /** The first that has been free since then. */
  #takeLane(instance: number, from: number): number {
    const lanes = this.#lanes.get(instance) ?? [];
    this.#lanes.set(instance, lanes);
    const free = lanes.findIndex((takenUntil) => takenUntil <= from);
    const lane = free < 0 ? lanes.length : free;
    lanes[lane] = Infinity;
    return lane;
  }
}

/** Without gaps: what is between two steps belongs to what comes after it. */
function extend(bar: Bar, phase: Phase, to: number): void {
  if (to <= bar.to) return;
  const last = bar.segments.at(-1);
  if (last?.phase === phase) last.to = to;
  else bar.segments.push({ phase, from: bar.to, to });
  bar.to = to;
}
