import { Bars } from './bars.ts';
import { toCell } from './cell.ts';
import type { Column } from './column.ts';
import type {
  BatchEvent,
  EngineEvent,
  QueueEvent,
  RequestEvent,
  StartEvent,
  StepEvent,
} from './step-events.ts';

/** Cells that are remembered, over all columns: some 60 MB. */
const MAX_CELLS = 400_000;
const MAX_REQUESTS = 20_000;
/** Time between two iterations that is shown, at most. */
export const IDLE_MS = 250;
/** Less than this between two iterations is work for the next one, not idleness. */
const BETWEEN_MS = 100;

/** All that is known of a model's engine: what came last in full, of what came before as much as fits. */
export class Timeline {
  start: StartEvent | null = null;
  queue: QueueEvent | null = null;
  /** By instance. */
  readonly engines = new Map<number, EngineEvent>();
  readonly bars = new Bars();
  readonly #columns = new Map<number, Column[]>();
  readonly #forgotten = new Map<number, number>();
  readonly #requests = new Map<string, RequestEvent>();
  readonly #recovered = new Set<number>();
  #numCells = 0;
  #numLost = 0;
  /** Changes with every event. */
  version = 0;

  /** The processes, in order. */
  get instances(): number[] {
    return [...new Set([...this.engines.keys(), ...this.#columns.keys()])].toSorted(
      (a, b) => a - b,
    );
  }

  /** In order; the first has index `firstIndex`. */
  columns(instance: number): readonly Column[] {
    return this.#columns.get(instance) ?? [];
  }

  firstIndex(instance: number): number {
    return this.#forgotten.get(instance) ?? 0;
  }

  /** One more than the last column's. */
  endIndex(instance: number): number {
    return this.firstIndex(instance) + this.columns(instance).length;
  }

  columnAt(instance: number, index: number): Column | undefined {
    return this.columns(instance)[index - this.firstIndex(instance)];
  }

  /** Beginning and end of what is kept, on the picture's clock. */
  span(instance: number): readonly [from: number, to: number] {
    const columns = this.columns(instance);
    const first = columns[0]?.from ?? 0;
    return [Math.max(0, first - IDLE_MS), columns.at(-1)?.to ?? 0];
  }

  /** The last column that has begun by a time of the picture's clock; undefined before the first. */
  columnBy(instance: number, time: number): Column | undefined {
    const columns = this.columns(instance);
    return columns[numBefore(columns, ({ from }) => from <= time) - 1];
  }

  /** Columns of which a part lies between two times. */
  columnsBetween(instance: number, from: number, to: number): readonly Column[] {
    const columns = this.columns(instance);
    const first = numBefore(columns, (column) => column.to <= from);
    return columns.slice(
      first,
      numBefore(columns, (column) => column.from < to),
    );
  }

  /** From Unix time to the picture's clock. */
  timeOf(instance: number, at: number): number {
    const columns = this.columns(instance);
    const next = numBefore(columns, ({ event }) => event.at <= at);
    const before = columns[next - 1];
    const after = columns[next];
    if (before !== undefined) {
      const sinceEnd = at - before.event.at - before.event.ms;
      if (sinceEnd > 0)
        return Math.min(before.to + Math.min(sinceEnd, IDLE_MS), after?.from ?? Infinity);
      return Math.max(before.from, before.to + sinceEnd);
    }
    return after === undefined ? 0 : after.from - Math.min(after.event.at - at, IDLE_MS);
  }

  request(instance: number, id: number): RequestEvent | undefined {
    return this.#requests.get(`${instance}:${id}`);
  }

  /** Beginning of a recording that starts now. */
  snapshot(): BatchEvent[] {
    const known = [...this.engines.values(), ...this.#requests.values()];
    return [this.start, ...known, this.queue].filter((event) => event !== null);
  }

  apply(event: BatchEvent): void {
    this.version++;
    switch (event.type) {
      case 'start':
        this.start = event;
        break;
      case 'engine':
        if (event.crashes > (this.engines.get(event.instance)?.crashes ?? event.crashes)) {
          this.#recovered.add(event.instance);
        }
        this.engines.set(event.instance, event);
        break;
      case 'request':
        this.#remember(event);
        break;
      case 'queue':
        this.queue = event;
        this.bars.takeQueue(event, this);
        break;
      case 'lost':
        this.#numLost += event.steps;
        break;
      case 'step':
        this.#append(event);
        break;
    }
  }

  /** No further step has come: what ran has ended with this one. */
  settle(last: Column): void {
    this.version++;
    this.bars.settle(last);
  }

  #remember(event: RequestEvent): void {
    this.#requests.set(`${event.instance}:${event.id}`, event);
    if (this.#requests.size <= MAX_REQUESTS) return;
    const [oldest] = this.#requests.keys();
    if (oldest !== undefined) this.#requests.delete(oldest);
  }

  #append(event: StepEvent): void {
    const { instance } = event;
    const columns = this.#columns.get(instance) ?? [];
    this.#columns.set(instance, columns);
    const last = columns.at(-1);
    const idleMs = last ? Math.max(0, event.at - last.event.at - last.event.ms) : IDLE_MS;
    const betweenMs = idleMs < BETWEEN_MS ? idleMs : 0;
    const from = (last?.to ?? 0) + (betweenMs > 0 ? 0 : Math.min(idleMs, IDLE_MS));
    const column: Column = {
      index: this.endIndex(instance),
      event,
      cells: event.cells.map(toCell),
      from,
      to: from + betweenMs + Math.max(event.ms, 0.01),
      cutMs: Math.max(0, idleMs - IDLE_MS),
      queue: this.queue,
      engine: this.engines.get(instance) ?? null,
      lostBefore: this.#numLost,
      isRecovered: this.#recovered.delete(instance),
    };
    columns.push(column);
    this.bars.takeStep(column, this);
    this.#numLost = 0;
    this.#numCells += event.cells.length;
    if (this.#numCells > MAX_CELLS) this.#forget(instance, columns);
  }

  /** A quarter at a time: to move all others with each column would take too long. */
  #forget(instance: number, columns: Column[]): void {
    const gone = columns.splice(0, Math.ceil(columns.length / 4));
    this.#forgotten.set(instance, this.firstIndex(instance) + gone.length);
    this.#numCells -= gone.reduce((sum, { cells }) => sum + cells.length, 0);
    this.bars.forget(instance, columns[0]?.from ?? Infinity);
  }
}

/** Number of those in an ordered list that hold what the first ones hold. */
function numBefore<T>(list: readonly T[], holds: (item: T) => boolean): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const item = list[middle];
    if (item !== undefined && holds(item)) low = middle + 1;
    else high = middle;
  }
  return low;
}
