import {
  type MadeMatrix,
  type MatrixTask,
  piecesOf,
  type WeightSource,
} from '../huggingface/weights.ts';
import { rowsOf } from '../huggingface/matrix-source.ts';
import { packIntegers } from './pack-integers.ts';
import { BLOCK_SIZE, emptyBlocks, quantizeRows } from './quantize-blocks.ts';
import { productBlockSize } from './stored-blocks.ts';

/** A matrix in blocks, as MatMulNBits reads it: the checkpoint's own, or new ones. */
export async function makeBlocks(
  weights: WeightSource,
  { source, bits, stored }: Extract<MatrixTask, { kind: 'blocks' }>,
): Promise<MadeMatrix> {
  const { tensors, columns } = source;
  const totalRows = rowsOf(source);
  if (stored !== null) {
    const size = productBlockSize(stored) ?? BLOCK_SIZE;
    const { packed, ...rest } = await packIntegers(weights, source, totalRows, stored, size);
    return { values: packed, ...rest };
  }
  const blocks = emptyBlocks(totalRows, columns, bits);
  let first = 0;
  for (const { name, rows } of tensors) {
    for await (const piece of piecesOf(weights, name, [rows, columns])) {
      quantizeRows(piece, columns, bits, blocks, first);
      first += piece.length / columns;
    }
  }
  return { values: blocks.packed, scales: blocks.scales, zeroPoints: new Uint8Array() };
}
