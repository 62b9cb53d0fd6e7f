/** Weight of a new measurement. */
const SMOOTHING = 0.1;

/** Time that a drafted token takes, as it was lately. */
export class TokenCost {
  #msPerToken = 0;

  /** Milliseconds; 0 until one was measured. */
  ofTokens(numTokens: number): number {
    return numTokens * this.#msPerToken;
  }

  /** @param ms of one token */
  observe(ms: number): void {
    const weight = this.#msPerToken === 0 ? 1 : SMOOTHING;
    this.#msPerToken += weight * (ms - this.#msPerToken);
  }
}
