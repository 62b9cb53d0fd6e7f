import { ModelError } from '../model-error.ts';
import type { StoredIntegers, StoredLayout, WeightSource } from '../huggingface/weights.ts';
import { addToBytes } from './add-to-bytes.ts';
import { readIntegerPieces } from './stored-blocks.ts';

/** A piece of a tensor: integers around the middle of their range, with as many weights to a scale as in the file. */
interface StoredForm {
  readonly integers: StoredIntegers;
  readonly blockSize: number;
}

/**
 * A tensor's integers as native/ has them, in pieces of whole rows: zero points are part of offsets, and 4 bits
 * may be 8.
 * @throws {ModelError} if the tensor is not stored as its layout says
 */
export async function* inOneForm(
  weights: WeightSource,
  name: string,
  shape: readonly [rows: number, columns: number],
  bits: 4 | 8,
): AsyncGenerator<StoredForm, void> {
  const layout = weights.layout?.(name, shape) ?? null;
  if (layout === null) throw new ModelError(`tensor "${name}" is not stored in integers`);
  for await (const piece of readIntegerPieces(weights, name, shape)) {
    yield { integers: movedTo(bits, piece, layout), blockSize: layout.blockSize };
  }
}

function movedTo(
  bits: 4 | 8,
  { values, scales, zeroPoints, offsets = null }: StoredIntegers,
  layout: StoredLayout,
): StoredIntegers {
  const middle = 2 ** (layout.bits - 1);
  const added = 2 ** (bits - 1) - middle;
  if (added === 0 && zeroPoints === null) return { values, scales, zeroPoints, offsets };
  const moved = added === 0 ? values : values.slice();
  addToBytes(moved, added);
  const hasOffsets = offsets !== null || zeroPoints !== null;
  return {
    values: moved,
    scales,
    zeroPoints: null,
    offsets: hasOffsets
      ? scales.map(
          (scale, i) => (offsets?.[i] ?? 0) + (middle - (zeroPoints?.[i] ?? middle)) * scale,
        )
      : null,
  };
}
