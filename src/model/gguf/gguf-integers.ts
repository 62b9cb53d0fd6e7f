import type { StoredIntegers, StoredLayout } from '../huggingface/weights.ts';
import { addToBytes } from '../quantize/add-to-bytes.ts';
import type { BlockSpace } from './integer-blocks.ts';
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
 * @param space for their content
 */
export function integersOf(
  type: string,
  bytes: Uint8Array<ArrayBuffer>,
  space: BlockSpace,
): StoredIntegers {
  const found = INTEGER_TYPES[type];
  if (found === undefined) throw new TypeError(`${type} has no integers`);
  const { bits, zero, middle, read } = found;
  const { integers: values, scales, mins } = read(bytes, space);
  // Moved to the middle of their bits, in place.
  addToBytes(values, 2 ** (bits - 1) - middle);
  const moved = middle - zero;
  if (mins !== null) {
    for (let group = 0; group < mins.length; group++) {
      mins[group] = (mins[group] ?? 0) + moved * (scales[group] ?? 0);
    }
  }
  return { values, scales, zeroPoints: null, offsets: mins };
}
