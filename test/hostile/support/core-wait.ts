/**
 * How long the threads that matter were ready to run and had no core, as Linux counts it: what a machine
 * with other work adds to every time that is measured on it. Elsewhere it is not known, and taken for
 * none.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** Times of one thread since its start, in milliseconds. */
interface Times {
  readonly ran: number;
  readonly waited: number;
}

interface Sample {
  readonly at: number;
  readonly times: ReadonlyMap<string, Times>;
}

/** Samples are taken no closer to each other than this; a minute of them is kept. */
const MIN_DISTANCE_MS = 10;
const MAX_SAMPLES = 6000;

export class CoreWait {
  readonly #mainThreads: readonly string[];
  readonly #engine: number;
  readonly #samples: Sample[] = [];

  /**
   * @param front whose main thread answers
   * @param engine whose busiest thread computes
   */
  constructor(front: number, engine: number) {
    this.#mainThreads = [process.pid, front].map((pid) => `/proc/${pid}/task/${pid}`);
    this.#engine = engine;
  }

  /** To be called often: what lies between two calls is not told apart. */
  sample(): void {
    const now = performance.now();
    if (now - (this.#samples.at(-1)?.at ?? -Infinity) < MIN_DISTANCE_MS) return;
    const threads = [...this.#mainThreads, ...threadsOf(this.#engine)];
    const times = new Map(threads.map((thread) => [thread, timesOf(thread)] as const));
    this.#samples.push({ at: now, times });
    if (this.#samples.length > MAX_SAMPLES) this.#samples.shift();
  }

  /**
   * Milliseconds for which the one that waited longest did so from `start` to `end`. Not the sum: what
   * others waited for meanwhile may be the stall that is looked for.
   * @param hasTokens whether the engine's work was waited for, too
   */
  between(start: number, end: number, hasTokens: boolean): number {
    const first = this.#samples.findLast(({ at }) => at <= start) ?? this.#samples[0];
    const last = this.#samples.find(({ at }) => at >= end) ?? this.#samples.at(-1);
    if (first === undefined || last === undefined) return 0;
    const engines = (hasTokens ? threadsOf(this.#engine) : []).toSorted(
      (a, b) => (last.times.get(b)?.ran ?? 0) - (last.times.get(a)?.ran ?? 0),
    );
    const waits = [...this.#mainThreads, ...engines.slice(0, 1)].map((thread) => {
      const [before, after] = [first.times.get(thread), last.times.get(thread)];
      return before === undefined || after === undefined ? 0 : after.waited - before.waited;
    });
    return Math.max(0, ...waits);
  }
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}`);
  } catch {
    return [];
  }
}

/** Zero for a thread that has just ended. */
function timesOf(thread: string): Times {
  try {
    const [ran = 0, waited = 0] = readFileSync(`${thread}/schedstat`, 'utf8')
      .split(' ')
      .map(Number);
    return { ran: ran / 1e6, waited: waited / 1e6 };
  } catch {
    return { ran: 0, waited: 0 };
  }
}
