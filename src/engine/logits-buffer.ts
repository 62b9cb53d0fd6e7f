import { NativeMemory } from '../ort/native-memory.ts';
import { Tensor } from '../ort/tensor.ts';

/**
 * Where every run leaves its logits: [rows, vocab]. First comes one row for each row of the KV
 * cache: that is computed once in a step (a dead row's rubbish comes before its prefill), so runs
 * never collide. Behind them may be rows for runs that want more than one position's logits.
 */
export class LogitsBuffer {
  readonly #memory: NativeMemory;
  readonly #vocabSize: number;
  readonly #rows: readonly Float32Array[];

  constructor(numRows: number, vocabSize: number) {
    this.#vocabSize = vocabSize;
    this.#memory = new NativeMemory(numRows * vocabSize * Float32Array.BYTES_PER_ELEMENT);
    const all = new Float32Array(this.#memory.view());
    this.#rows = Array.from({ length: numRows }, (_, row) =>
      all.subarray(row * vocabSize, (row + 1) * vocabSize),
    );
  }

  /** [vocab], valid until the row is next computed. */
  row(row: number): Float32Array {
    const logits = this.#rows[row];
    if (!logits) throw new RangeError(`there is no row ${row}`);
    return logits;
  }

  /** A tensor [rows, vocab] over a range of rows. The caller releases it, before the buffer. */
  tensor(firstRow: number, numRows: number): Tensor<'float'> {
    const byteOffset = firstRow * this.#vocabSize * Float32Array.BYTES_PER_ELEMENT;
    return Tensor.overNative('float', [numRows, this.#vocabSize], this.#memory, byteOffset);
  }

  release(): void {
    this.#memory.release();
  }
}
