import type { StoredIntegers, StoredLayout } from '../huggingface/weights.ts';
import { INTEGER_TYPES } from './integer-types.ts';

/** By type; only of those whose blocks are integers. */
export const GGUF_LAYOUTS: ReadonlyMap<string, StoredLayout> = new Map(
  Object.entries(INTEGER_TYPES).map(([name, type]): [string, StoredLayout] => {
    const { bits, groupSize: blockSize, middle } = type;
    return [name, { bits, blockSize, hasZeroPoints: false, hasOffsets: middle !== 0, order: null }];
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
  const { bits, middle, read } = found;
  const { integers, scales, mins } = read(bytes);
  // Integers are stored from 0 on: moved up in place, for a matrix may have a billion.
  const added = 2 ** (bits - 1) - middle;
  const values = new Uint8Array(integers.buffer, integers.byteOffset, integers.length);
  for (let i = 0; i < values.length; i++) values[i] = (values[i] ?? 0) + added;
  const offsets = mins?.map((min, group) => min + middle * (scales[group] ?? 0)) ?? null;
  return { values, scales, zeroPoints: null, offsets };
}
