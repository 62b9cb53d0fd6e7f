/** Tells which code of the sources has been executed, by V8's own counters: nothing is instrumented. */
import { type Profiler, Session } from 'node:inspector';

type Interval = readonly [start: number, end: number];

export interface Taken {
  /** Whether something was executed that never was before. */
  readonly isNew: boolean;
  /** Has it known from now on, so that it is no longer new. */
  readonly learn: () => void;
  /** How often blocks were executed: what was done, whatever else the machine does. */
  readonly work: number;
}

export class Coverage {
  readonly #session = new Session();
  /** By function, what of it was never executed. */
  readonly #untouched = new Map<string, readonly Interval[]>();
  /** By function, its characters. */
  readonly #sizes = new Map<string, number>();
  readonly #counts: (url: string) => boolean;

  /** @param counts which scripts are to be covered */
  constructor(counts: (url: string) => boolean) {
    this.#counts = counts;
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** Characters of functions that were called, and of their blocks that were executed. */
  get reached(): { readonly functions: number; readonly share: number } {
    const all = [...this.#sizes.values()].reduce((sum, size) => sum + size, 0);
    const missed = [...this.#untouched.values()].flat();
    const rest = missed.reduce((sum, [start, end]) => sum + end - start, 0);
    return { functions: this.#sizes.size, share: all === 0 ? 0 : 1 - rest / all };
  }

  /** Code that was executed since it was last asked. */
  take(): Taken {
    let result: Profiler.ScriptCoverage[] = [];
    this.#session.post('Profiler.takePreciseCoverage', (error, taken) => {
      if (error) throw error;
      ({ result } = taken);
    });
    const learned: (readonly [key: string, size: number, untouched: readonly Interval[]])[] = [];
    let work = 0;
    for (const { url, functions } of result) {
      if (!url.startsWith('file:')) continue;
      const isCounted = this.#counts(url);
      for (const { functionName, ranges } of functions) {
        for (const { count } of ranges) work += count;
        const [whole] = ranges;
        if (!isCounted || whole === undefined || whole.count === 0) continue;
        const key = `${url} ${whole.startOffset} ${functionName}`;
        const missed = ranges.filter(({ count }) => count === 0);
        const zeros = missed.map((range): Interval => [range.startOffset, range.endOffset]);
        const untouched = this.#lessUntouched(key, zeros);
        if (untouched !== null) learned.push([key, whole.endOffset - whole.startOffset, untouched]);
      }
    }
    const learn = (): void => {
      for (const [key, size, untouched] of learned) {
        this.#untouched.set(key, untouched);
        this.#sizes.set(key, size);
      }
    };
    return { isNew: learned.length > 0, learn, work };
  }

  /** Code that is left of a function that was called; null if no less than before. */
  #lessUntouched(key: string, zeros: readonly Interval[]): readonly Interval[] | null {
    const before = this.#untouched.get(key);
    if (before === undefined) return zeros;
    if (before.length === 0) return null;
    const after = intersection(before, zeros);
    return lengthOf(after) < lengthOf(before) ? after : null;
  }
}

const lengthOf = (intervals: readonly Interval[]): number =>
  intervals.reduce((sum, [start, end]) => sum + end - start, 0);

function intersection(some: readonly Interval[], others: readonly Interval[]): Interval[] {
  return some.flatMap(([start, end]) =>
    others
      .map(([from, to]): Interval => [Math.max(start, from), Math.min(end, to)])
      .filter(([from, to]) => from < to),
  );
}
