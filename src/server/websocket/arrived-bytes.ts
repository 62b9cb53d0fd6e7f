import type { BodyBudget } from '../http/body-budget.ts';

/** The bytes of a socket that have come and are not done with: its client is charged, as for bodies. */
export class ArrivedBytes {
  readonly #budget: BodyBudget;
  readonly #client: string;
  #numHeld = 0;

  constructor(budget: BodyBudget, client: string) {
    this.#budget = budget;
    this.#client = client;
  }

  /** @throws ApiError 429 or 503 when too much is held already */
  add(numBytes: number): void {
    this.#budget.charge(this.#client, numBytes);
    this.#numHeld += numBytes;
  }

  /** Gives back what was added; of no effect once all is given back. */
  remove(numBytes: number): void {
    const numLeft = Math.min(numBytes, this.#numHeld);
    this.#budget.release(this.#client, numLeft);
    this.#numHeld -= numLeft;
  }

  /** Gives all back. */
  clear(): void {
    this.remove(this.#numHeld);
  }
}
