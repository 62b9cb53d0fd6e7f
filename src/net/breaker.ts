/** Failures in a row that open it. */
const MAX_FAILURES = 3;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;

/**
 * Keeps calls from a service that fails: after a few failures in a row none are let through for a
 * while, then one to try. Each trial that fails makes the pause longer.
 */
export class Breaker {
  readonly #now: () => number;
  #failures = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #openUntil = 0;
  #isTrying = false;

  /** @param now a clock in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Whether a call would be let through. */
  get isReady(): boolean {
    if (this.#failures < MAX_FAILURES) return true;
    return !this.#isTrying && this.#now() >= this.#openUntil;
  }

  /** A call begins that was let through. */
  began(): void {
    this.#isTrying = this.#failures >= MAX_FAILURES;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#isTrying = false;
  }

  failed(): void {
    const wasOpen = this.#failures >= MAX_FAILURES;
    // Only the first failure makes a pause among calls that began together.
    if (wasOpen && !this.#isTrying) return;
    this.#isTrying = false;
    this.#failures++;
    if (this.#failures < MAX_FAILURES) return;
    this.#openUntil = this.#now() + this.#pauseMs;
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
  }
}
