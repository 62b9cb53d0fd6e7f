/** Gives answers out as they come or, where order is preserved, in the order of their requests. */
export class OrderedAnswers {
  readonly #isOrdered: boolean;
  /** In order of arrival: what is given out once all before it is; null while that is not known. */
  readonly #pending: { give: (() => void) | null }[] = [];

  constructor(isOrdered: boolean) {
    this.#isOrdered = isOrdered;
  }

  /**
   * Takes a request's place in the order.
   * @param give takes the answer
   * @returns for the answer; calls beyond the first do nothing
   */
  expect<Answer>(give: (answer: Answer) => void): (answer: Answer) => void {
    if (!this.#isOrdered) return give;
    const place: { give: (() => void) | null } = { give: null };
    this.#pending.push(place);
    return (answer) => {
      place.give ??= () => give(answer);
      while (this.#pending[0]?.give) this.#pending.shift()?.give?.();
    };
  }
}
