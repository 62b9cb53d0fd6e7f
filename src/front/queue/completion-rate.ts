const TIME_CONSTANT_MS = 30_000;

/**
 * How many requests are completed per second, over about the last half minute of work. Idle time
 * does not count: an idle server is not a slow one.
 */
export class CompletionRate {
  readonly #now: () => number;
  /** Completions, each weighted by exp(-age / time constant). */
  #weight = 0;
  #busyMs = 0;
  #updatedAt: number;
  #isBusy = false;

  /** @param now a clock in milliseconds */
  constructor(now: () => number) {
    this.#now = now;
    this.#updatedAt = now();
  }

  setBusy(isBusy: boolean): void {
    this.#update();
    this.#isBusy = isBusy;
  }

  completed(): void {
    this.#update();
    this.#weight++;
  }

  /** @returns 0 as long as nothing was completed. */
  perSecond(): number {
    this.#update();
    if (this.#weight === 0 || this.#busyMs === 0) return 0;
    // Weight at one completion a millisecond since the start.
    const full = TIME_CONSTANT_MS * (1 - Math.exp(-this.#busyMs / TIME_CONSTANT_MS));
    return (1000 * this.#weight) / full;
  }

  #update(): void {
    const now = this.#now();
    const elapsed = this.#isBusy ? now - this.#updatedAt : 0;
    this.#weight *= Math.exp(-elapsed / TIME_CONSTANT_MS);
    this.#busyMs += elapsed;
    this.#updatedAt = now;
  }
}
