import type { NativeFormat, StoredLayout, WeightSource } from '../huggingface/weights.ts';
import { isInRows } from '../quantize/kept-format.ts';
import type { MatrixSource } from '../quantize/matrix-source.ts';
import { sharedLayout } from '../quantize/stored-blocks.ts';

/** What weights of so many bits become that are not stored in integers which native/ has. */
const OWN: Readonly<Record<4 | 8, NativeFormat>> = {
  4: { bits: 4, blockSize: 64 },
  8: { bits: 8, blockSize: null },
};

/** As a matrix is stored, if native/ has such weights of as many bits. */
export function nativeFormat(
  weights: WeightSource,
  source: MatrixSource,
  bits: 4 | 8,
): NativeFormat {
  const layout = sharedLayout(weights, source);
  const kept = layout?.bits === bits ? keptIn(layout, source.columns) : null;
  return kept ?? OWN[bits];
}

/** How native/ keeps integers of a layout as they are; null where it cannot. */
export function keptIn(layout: StoredLayout, columns: number): NativeFormat | null {
  const { bits, blockSize, hasZeroPoints, hasOffsets, order } = layout;
  if (isInRows(layout, columns)) return OWN[8];
  if (hasZeroPoints || hasOffsets || order !== null || blockSize % 32 !== 0) return null;
  // Of larger blocks, several have the same scale.
  return { bits, blockSize: bits === 4 && blockSize % 64 === 0 ? 64 : 32 };
}
