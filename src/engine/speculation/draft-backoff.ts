const FIRST_REST = 24;
const LONGEST_REST = 64 * FIRST_REST;

/**
 * When to try drafts that cost something. Only more drafts can show that they pay again, so after a
 * failure they rest for some steps and are then tried once. Each failure doubles the rest.
 */
export class DraftBackoff {
  #rest = FIRST_REST;
  #numStepsLeft = 0;
  #isTrial = false;

  /** Whether the step at hand is to be used for drafts whatever is expected of them. */
  get isTrial(): boolean {
    return this.#isTrial;
  }

  /** To be called once for each step; returns whether it goes without a thought. */
  rests(): boolean {
    if (this.#numStepsLeft === 0) return false;
    this.#numStepsLeft--;
    this.#isTrial = this.#numStepsLeft === 0;
    return !this.#isTrial;
  }

  /** @param pays whether drafts are expected to pay, in a step that does not rest */
  judge(pays: boolean): void {
    const wasTrial = this.#isTrial;
    this.#isTrial = false;
    if (pays) this.#rest = FIRST_REST;
    else if (!wasTrial) {
      this.#numStepsLeft = this.#rest;
      this.#rest = Math.min(2 * this.#rest, LONGEST_REST);
    }
  }
}
