/** Things that were opened, to be closed in the reverse order. */
export class Closers {
  readonly #closers: (() => unknown)[] = [];

  /** @param close may be asynchronous */
  add(close: () => unknown): void {
    this.#closers.push(close);
  }

  /** Closes everything once, also what comes after a part that fails. @throws the first failure */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const close of this.#closers.splice(0).toReversed()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
