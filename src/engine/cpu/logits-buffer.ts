import { HIDDEN_OUTPUT } from '../../model/graph/decoder-parts.ts';
import { NativeMemory } from '../../ort/native-memory.ts';
import type { Session } from '../../ort/session.ts';
import { Tensor } from '../../ort/tensor.ts';

/** Logits of a run that left logits out. */
export const NO_LOGITS = new Float32Array();

/** Width of the hidden states that a graph outputs; null if it outputs none. */
export function hiddenSizeOf({ outputs }: Session): number | null {
  const size = outputs.find(({ name }) => name === HIDDEN_OUTPUT)?.shape.at(-1);
  return typeof size === 'number' ? size : null;
}

/**
 * Output rows for the runs of a step, one after the other: logits [rows, vocab]; hidden states [rows,
 * hidden], if the graph outputs them; and the likeliest tokens [rows], if the graph finds them.
 */
export class LogitsBuffer {
  readonly #logits: Rows;
  readonly #hidden: Rows | null;
  readonly #bestMemory: NativeMemory;
  readonly #best: Int32Array;
  readonly #numRows: number;
  #numTaken = 0;

  /**
   * @param numRows that one step takes at most
   * @param hiddenSize null if the graph does not output hidden states
   */
  constructor(numRows: number, vocabSize: number, hiddenSize: number | null = null) {
    this.#numRows = numRows;
    this.#logits = new Rows(numRows, vocabSize);
    this.#hidden = hiddenSize === null ? null : new Rows(numRows, hiddenSize);
    this.#bestMemory = new NativeMemory(numRows * Int32Array.BYTES_PER_ELEMENT);
    this.#best = new Int32Array(this.#bestMemory.view());
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
    if (first + numRows > this.#numRows) {
      throw new RangeError(`a step has ${this.#numRows} rows of logits at most`);
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
    return this.#logits.row(row);
  }

  /** The hidden state [hidden] that a run left; null if the graph does not output it. */
  hiddenRow(row: number): Float32Array | null {
    return this.#hidden && this.#hidden.row(row);
  }

  /** The id of the row's highest logit, or -1 when none is a finite number: of graphs that find it. */
  best(row: number): number {
    return this.#best[row] ?? -1;
  }

  /** A tensor [rows, vocab] over a range of rows. The caller releases it, before the buffer. */
  tensor(firstRow: number, numRows: number): Tensor<'float'> {
    return this.#logits.tensor(firstRow, numRows);
  }

  /** A tensor [rows, hidden] as in `tensor`; null if the graph does not output hidden states. */
  hiddenTensor(firstRow: number, numRows: number): Tensor<'float'> | null {
    return this.#hidden && this.#hidden.tensor(firstRow, numRows);
  }

  /** A tensor [rows] of the likeliest tokens, as in `tensor`. */
  bestTensor(firstRow: number, numRows: number): Tensor<'int32'> {
    const byteOffset = firstRow * Int32Array.BYTES_PER_ELEMENT;
    return Tensor.overNative('int32', [numRows], this.#bestMemory, byteOffset);
  }

  release(): void {
    this.#logits.release();
    this.#hidden?.release();
    this.#bestMemory.release();
  }
}

/** [rows, width] in native memory. */
class Rows {
  readonly #memory: NativeMemory;
  readonly #width: number;
  readonly #rows: readonly Float32Array[];

  constructor(numRows: number, width: number) {
    this.#width = width;
    this.#memory = new NativeMemory(numRows * width * Float32Array.BYTES_PER_ELEMENT);
    const all = new Float32Array(this.#memory.view());
    this.#rows = Array.from({ length: numRows }, (_, row) =>
      all.subarray(row * width, (row + 1) * width),
    );
  }

  row(row: number): Float32Array {
    const values = this.#rows[row];
    if (!values) throw new RangeError(`there is no row ${row}`);
    return values;
  }

  tensor(firstRow: number, numRows: number): Tensor<'float'> {
    const byteOffset = firstRow * this.#width * Float32Array.BYTES_PER_ELEMENT;
    return Tensor.overNative('float', [numRows, this.#width], this.#memory, byteOffset);
  }

  release(): void {
    this.#memory.release();
  }
}
