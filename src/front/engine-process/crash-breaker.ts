/** After this many crashes without a token in between, starting again at once is no use. */
const MAX_CRASHES_IN_A_ROW = 3;
const FIRST_PAUSE_MS = 2000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * A circuit breaker for the engine process. Closed, a crash is answered with a new process at once.
 * After several crashes in a row it opens for a pause, lets one process try (half-open), and closes
 * with the first token; another crash opens it again, for twice as long.
 */
export class CrashBreaker {
  #crashesInARow = 0;

  /** @returns how long to wait before the next process, in milliseconds; 0 while closed */
  crashed(): number {
    this.#crashesInARow++;
    const beyond = this.#crashesInARow - MAX_CRASHES_IN_A_ROW;
    return beyond < 0 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** beyond, LONGEST_PAUSE_MS);
  }

  /** The process does its work. */
  progressed(): void {
    this.#crashesInARow = 0;
  }
}
