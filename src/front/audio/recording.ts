import { type Samples, SAMPLE_RATE } from '../../audio/decode.ts';

/** Decoded sound of a request: one channel of 16,000 samples per second. */
export class Recording {
  #pieces: Samples[] = [];
  #length = 0;

  add(piece: Samples): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
  }

  clear(): void {
    this.#pieces = [];
    this.#length = 0;
  }

  /** Memory of all. */
  get bytes(): number {
    return this.#length * Int16Array.BYTES_PER_ELEMENT;
  }

  /** Samples of all. */
  get length(): number {
    return this.#length;
  }

  get seconds(): number {
    return this.#length / SAMPLE_RATE;
  }

  /** Copies samples; fewer where it ends. @param start of the first one */
  slice(start: number, count: number): Samples {
    const out = new Int16Array(Math.max(0, Math.min(count, this.#length - start)));
    let first = 0;
    for (const piece of this.#pieces) {
      const from = Math.max(0, start - first);
      const part = piece.subarray(from, Math.max(from, start + out.length - first));
      if (part.length > 0) out.set(part, first + from - start);
      first += piece.length;
    }
    return out;
  }
}
