/** How much of a new measurement is taken over. */
const WEIGHT = 0.3;
/** Each time that nothing was read, the rate is trusted a little less: a slow spell must not last forever. */
const DOUBT = 1.02;

/** Bytes per millisecond that are read from somewhere, as measured. */
export class TransferRate {
  #bytesPerMs: number;

  /** @param bytesPerMs to begin with: too high, so that the first blocks are read and measured */
  constructor(bytesPerMs: number) {
    this.#bytesPerMs = bytesPerMs;
  }

  msOf(bytes: number): number {
    return bytes / this.#bytesPerMs;
  }

  observe(bytes: number, ms: number): void {
    if (bytes === 0 || ms <= 0) return;
    this.#bytesPerMs += WEIGHT * (bytes / ms - this.#bytesPerMs);
  }

  /** Nothing was read, since that would have taken too long. */
  skipped(): void {
    this.#bytesPerMs *= DOUBT;
  }
}
