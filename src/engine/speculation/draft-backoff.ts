const FIRST_REST = 24;
const LONGEST_REST = 64 * FIRST_REST;

/**
 * When to think of drafts that cost something. What says that they don't pay changes only with more
 * of them: they are left be for some steps and then tried once, twice as long each time in a row.
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
