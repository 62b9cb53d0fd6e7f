/**
 * How long processes were ready to run and had no core, as Linux counts it: what a machine with other
 * work adds to every time that is measured on it. Elsewhere it is not known, and taken for none.
 */
import { readdirSync, readFileSync } from 'node:fs';

interface Sample {
  readonly at: number;
  /** Milliseconds since its start, of each thread. */
  readonly waits: ReadonlyMap<string, number>;
}

/** Half a minute of samples, taken as often as `/livez` is asked. */
const MAX_SAMPLES = 1200;

export class CoreWait {
  readonly #pids: readonly number[];
  readonly #samples: Sample[] = [];

  constructor(pids: readonly number[]) {
    this.#pids = pids;
  }

  /** To be called often: what lies between two calls is not told apart. */
  sample(): void {
    const threads = this.#pids.flatMap((pid) => threadsOf(pid));
    const waits = new Map(threads.map((thread) => [thread, waitOf(thread)] as const));
    this.#samples.push({ at: performance.now(), waits });
    if (this.#samples.length > MAX_SAMPLES) this.#samples.shift();
  }

  /**
   * Milliseconds for which the processes waited from `start` to `end`: of each process the thread that
   * waited longest, for it takes all of them, one after the other, to answer.
   */
  between(start: number, end: number): number {
    const first = this.#samples.findLast(({ at }) => at <= start) ?? this.#samples[0];
    const last = this.#samples.find(({ at }) => at >= end) ?? this.#samples.at(-1);
    if (first === undefined || last === undefined) return 0;
    const longest = this.#pids.map((pid) => {
      const own = [...last.waits].filter(([thread]) => thread.startsWith(`/proc/${pid}/`));
      return Math.max(0, ...own.map(([thread, ms]) => ms - (first.waits.get(thread) ?? ms)));
    });
    return longest.reduce((sum, ms) => sum + ms, 0);
  }
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(
      (thread) => `/proc/${pid}/task/${thread}/schedstat`,
    );
  } catch {
    return [];
  }
}

/** Zero for a thread that has just ended. */
function waitOf(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}
