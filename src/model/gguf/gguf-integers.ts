import type { StoredIntegers, StoredLayout } from '../huggingface/weights.ts';
import { addToBytes } from '../quantize/add-to-bytes.ts';
import { INTEGER_TYPES } from './integer-types.ts';

/** By type; only of those whose blocks are integers. */
export const GGUF_LAYOUTS: ReadonlyMap<string, StoredLayout> = new Map(
  Object.entries(INTEGER_TYPES).map(([name, type]): [string, StoredLayout] => {
    const { bits, groupSize: blockSize, zero, middle } = type;
    const hasOffsets = middle !== zero;
    return [name, { bits, blockSize, hasZeroPoints: false, hasOffsets, order: null }];
  }),
);

/**
 * Blocks with integers around 0, and what that takes off their weights as an offset.
 * @param type one that has a layout
 * @param bytes whole blocks
 */
export function integersOf(type: string, bytes: Uint8Array<ArrayBuffer>): StoredIntegers {
  const found = INTEGER_TYPES[type];
  if (found === undefined) throw new TypeError(`${type} has no integers`);
  const { bits, zero, middle, read } = found;
  const { integers: values, scales, mins } = read(bytes);
  // Moved to the middle of their bits, in place.
  addToBytes(values, 2 ** (bits - 1) - middle);
  const offsets = mins?.map((min, group) => min + (middle - zero) * (scales[group] ?? 0)) ?? null;
  return { values, scales, zeroPoints: null, offsets };
}
