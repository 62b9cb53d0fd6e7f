import {
  type MadeMatrix,
  type MatrixTask,
  piecesOf,
  type WeightSource,
} from '../huggingface/weights.ts';
import { weightData } from './float-matrix.ts';
import { rowsOf } from '../huggingface/matrix-source.ts';
import { transposeInto } from '../huggingface/transpose.ts';

/** A matrix in floats. */
export async function makeFloats(
  weights: WeightSource,
  { source, type, isTransposed }: Extract<MatrixTask, { kind: 'floats' }>,
): Promise<MadeMatrix> {
  const { tensors, columns } = source;
  const totalRows = rowsOf(source);
  const values =
    type === 'float' ? new Float32Array(totalRows * columns) : new Uint16Array(totalRows * columns);
  let first = 0;
  for (const { name, rows } of tensors) {
    for await (const piece of piecesOf(weights, name, [rows, columns])) {
      const stored = weightData(type, piece, name);
      const count = piece.length / columns;
      if (isTransposed) transposeInto(stored, count, columns, values, totalRows, first);
      else values.set(stored, first * columns);
      first += count;
    }
  }
  return { values, scales: new Float32Array(), zeroPoints: new Uint8Array() };
}
