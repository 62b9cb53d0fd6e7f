export interface SentBatch {
  readonly topic: string;
  readonly sequence: number;
  readonly payload: Uint8Array;
}

/** The last batches, for subscribers that missed some: bounded by number and bytes. */
export class EventHistory {
  readonly #maxBatches: number;
  readonly #maxBytes: number;
  #batches: SentBatch[] = [];
  /** Number of `#batches` that are forgotten, from the first on. */
  #numForgotten = 0;
  #bytes = 0;

  constructor(maxBatches: number, maxBytes: number) {
    this.#maxBatches = maxBatches;
    this.#maxBytes = maxBytes;
  }

  add(batch: SentBatch): void {
    this.#batches.push(batch);
    this.#bytes += batch.payload.byteLength;
    while (
      this.#batches.length - this.#numForgotten > this.#maxBatches ||
      this.#bytes > this.#maxBytes
    ) {
      this.#bytes -= this.#batches[this.#numForgotten++]?.payload.byteLength ?? 0;
    }
    if (this.#numForgotten <= this.#maxBatches) return;
    this.#batches = this.#batches.slice(this.#numForgotten);
    this.#numForgotten = 0;
  }

  /** Those that are still known, from a sequence number on. */
  from(sequence: number): SentBatch[] {
    return this.#batches.slice(this.#numForgotten).filter((batch) => batch.sequence >= sequence);
  }
}
