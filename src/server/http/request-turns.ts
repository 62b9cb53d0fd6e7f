import { guarded } from '../../guarded.ts';
import { LIMITS } from '../../limits.ts';

/**
 * Shares the event loop between requests that have come at once and everything else: some of them begin in
 * each of its turns, in the order in which they came, so that tokens of running answers go out in between.
 */
export class RequestTurns {
  readonly #waiting: (() => void)[] = [];
  #numBegun = 0;

  /** Resolves when a request may begin. */
  async next(): Promise<void> {
    if (this.#numBegun === 0) this.#turnSoon();
    if (this.#numBegun++ < LIMITS.requestsPerTurn) return;
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Whatever goes wrong in a turn, those that wait get theirs. */
  #turnSoon(): void {
    const turn = (): void => this.#turn();
    const goOn = (error: unknown): never => {
      this.#turn();
      throw error;
    };
    setImmediate(guarded(turn, goOn));
  }

  #turn(): void {
    const begun = this.#waiting.splice(0, LIMITS.requestsPerTurn);
    // Those that still wait count as begun: who comes now comes after them.
    this.#numBegun = begun.length + this.#waiting.length;
    if (this.#numBegun > 0) this.#turnSoon();
    for (const resolve of begun) resolve();
  }
}
