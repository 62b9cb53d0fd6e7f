import { ModelError } from '../model-error.ts';
import type { StoredIntegers, StoredLayout, WeightSource } from '../huggingface/weights.ts';
import { readIntegers } from './stored-blocks.ts';

/** Integers around the middle of their range, and their layout, which says the same. */
interface StoredForm {
  readonly integers: StoredIntegers;
  readonly layout: StoredLayout;
}

/**
 * A tensor's integers as native/ has them: zero points are part of offsets, and 4 bits may be 8.
 * @throws {ModelError} if the tensor is not stored as its layout says
 */
export async function inOneForm(
  weights: WeightSource,
  name: string,
  shape: readonly [rows: number, columns: number],
  bits: 4 | 8,
): Promise<StoredForm> {
  const layout = weights.layout?.(name, shape) ?? null;
  if (layout === null) throw new ModelError(`tensor "${name}" is not stored in integers`);
  const { values, scales, zeroPoints, offsets } = await readIntegers(weights, name, shape);
  const middle = 2 ** (layout.bits - 1);
  const added = 2 ** (bits - 1) - middle;
  const hasOffsets = Boolean(offsets) || zeroPoints !== null;
  const integers = {
    values: added === 0 ? values : values.map((value) => value + added),
    scales,
    zeroPoints: null,
    offsets: hasOffsets
      ? scales.map(
          (scale, i) => (offsets?.[i] ?? 0) + (middle - (zeroPoints?.[i] ?? middle)) * scale,
        )
      : null,
  };
  return { integers, layout: { ...layout, bits, hasZeroPoints: false, hasOffsets } };
}
