/** Seconds that a rate looks back. */
export const RATE_SECONDS = 10;

/** How many of something there were in each of the last seconds. */
export class SlidingRate {
  /** By the second, modulo its length: the one that is going on, and those that count. */
  readonly #counts = new Float64Array(RATE_SECONDS + 1);
  #second = 0;

  /** @param timeMs now, by any clock that does not go back */
  add(count: number, timeMs: number): void {
    const slot = this.#advance(timeMs);
    this.#counts[slot] = (this.#counts[slot] ?? 0) + count;
  }

  /** Rate over the last whole seconds. @param timeMs as in `add` */
  perSecond(timeMs: number): number {
    const current = this.#advance(timeMs);
    const sum = this.#counts.reduce((total, count) => total + count, 0);
    return (sum - (this.#counts[current] ?? 0)) / RATE_SECONDS;
  }

  /** Forgets what is too long ago. @returns where the second that is going on is counted */
  #advance(timeMs: number): number {
    const second = Math.floor(timeMs / 1000);
    const { length } = this.#counts;
    for (let passed = Math.min(second - this.#second, length); passed > 0; passed--) {
      this.#counts[(second - passed + 1) % length] = 0;
    }
    this.#second = Math.max(second, this.#second);
    return this.#second % length;
  }
}
