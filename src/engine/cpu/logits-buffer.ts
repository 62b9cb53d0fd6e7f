import { NativeMemory } from '../../ort/native-memory.ts';
import { Tensor } from '../../ort/tensor.ts';

/** Where the runs of a step write their logits, one after the other: [rows, vocab]. */
export class LogitsBuffer {
  readonly #memory: NativeMemory;
  readonly #vocabSize: number;
  readonly #rows: readonly Float32Array[];
  #numTaken = 0;

  /** @param numRows that one step takes at most */
  constructor(numRows: number, vocabSize: number) {
    this.#vocabSize = vocabSize;
    this.#memory = new NativeMemory(numRows * vocabSize * Float32Array.BYTES_PER_ELEMENT);
    const all = new Float32Array(this.#memory.view());
    this.#rows = Array.from({ length: numRows }, (_, row) =>
      all.subarray(row * vocabSize, (row + 1) * vocabSize),
    );
  }

  /** A new step begins: the last one's logits are not read any more. */
  reset(): void {
    this.#numTaken = 0;
  }

  /**
   * Sets rows aside for a run; returns the first one.
   * @throws RangeError when the step has taken all
   */
  reserve(numRows: number): number {
    const first = this.#numTaken;
    if (first + numRows > this.#rows.length) {
      throw new RangeError(`a step has ${this.#rows.length} rows of logits at most`);
    }
    this.#numTaken += numRows;
    return first;
  }

  /** Takes back the rows from `firstRow` on: their run failed. */
  giveBack(firstRow: number): void {
    this.#numTaken = firstRow;
  }

  /** Logits [vocab] that a run left. */
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
