/** How many tokens of experience the expectation is worth. */
const PRIOR_WEIGHT = 3;

/** How often draft tokens come true: a running estimate in which older tokens fade. */
export class AcceptanceRate {
  readonly #prior: () => number;
  readonly #decay: number;
  #numTried = 0;
  #numAccepted = 0;

  /**
   * @param prior what to expect without experience; may change
   * @param decay weight of a token relative to the one after it
   */
  constructor(prior: () => number, decay: number) {
    this.#prior = prior;
    this.#decay = decay;
  }

  /** 0 to 1. */
  get value(): number {
    const weight = PRIOR_WEIGHT + this.#numTried;
    return (PRIOR_WEIGHT * this.#prior() + this.#numAccepted) / weight;
  }

  add(accepted: boolean): void {
    this.#numTried = this.#numTried * this.#decay + 1;
    this.#numAccepted = this.#numAccepted * this.#decay + (accepted ? 1 : 0);
  }
}
