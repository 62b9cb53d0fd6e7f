const FIRST_REST = 24;
const LONGEST_REST = 64 * FIRST_REST;

/**
 * When to try drafts that cost something. Only another try can show that they pay again. So after
 * a failure there are none for some steps, then one try. Each failure doubles the pause.
 */
export class DraftBackoff {
  #rest = FIRST_REST;
  #numStepsLeft = 0;
  #isTrial = false;

  /** Whether this step tries drafts even if they are not expected to pay. */
  get isTrial(): boolean {
    return this.#isTrial;
  }

  /** To be called once for each step; returns whether the step goes without a draft. */
  rests(): boolean {
    if (this.#numStepsLeft === 0) return false;
    this.#numStepsLeft--;
    this.#isTrial = this.#numStepsLeft === 0;
    return !this.#isTrial;
  }

  /** @param pays whether drafts are expected to pay, outside of a pause */
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
