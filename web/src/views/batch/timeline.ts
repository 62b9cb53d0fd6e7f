import { type Cell, toCell } from './cell.ts';
import type {
  BatchEvent,
  EngineEvent,
  QueueEvent,
  RequestEvent,
  StartEvent,
  StepEvent,
} from './step-events.ts';

/** An iteration of one engine process, and what happened since the one before. */
export interface Column {
  /** Counts columns of the process, from 0 on; columns that were forgotten count too. */
  readonly index: number;
  readonly event: StepEvent;
  readonly cells: readonly Cell[];
  /** When it was told. */
  readonly queue: QueueEvent | null;
  readonly engine: EngineEvent | null;
  /** Iterations before it that are missing, since this client read too slowly. */
  readonly lostBefore: number;
  /** The process crashed before it, and is another one now. */
  readonly isRecovered: boolean;
}

/** Cells that are remembered, over all columns: some 60 MB. */
const MAX_CELLS = 400_000;
const MAX_REQUESTS = 20_000;

/** All that is known of a model's engine: what came last in full, of what came before as much as fits. */
export class Timeline {
  start: StartEvent | null = null;
  queue: QueueEvent | null = null;
  /** By instance. */
  readonly engines = new Map<number, EngineEvent>();
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

  request(instance: number, id: number): RequestEvent | undefined {
    return this.#requests.get(`${instance}:${id}`);
  }

  /** What somebody who comes now has to be told first. */
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
        break;
      case 'lost':
        this.#numLost += event.steps;
        break;
      case 'step':
        this.#append(event);
        break;
    }
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
    columns.push({
      index: this.endIndex(instance),
      event,
      cells: event.cells.map(toCell),
      queue: this.queue,
      engine: this.engines.get(instance) ?? null,
      lostBefore: this.#numLost,
      isRecovered: this.#recovered.delete(instance),
    });
    this.#numLost = 0;
    this.#numCells += event.cells.length;
    if (this.#numCells > MAX_CELLS) this.#forget(instance, columns);
  }

  /** A quarter at a time: to move all others with each column would take too long. */
  #forget(instance: number, columns: Column[]): void {
    const gone = columns.splice(0, Math.ceil(columns.length / 4));
    this.#forgotten.set(instance, this.firstIndex(instance) + gone.length);
    this.#numCells -= gone.reduce((sum, { cells }) => sum + cells.length, 0);
  }
}
