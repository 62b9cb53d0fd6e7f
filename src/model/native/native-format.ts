import type { NativeFormat, StoredLayout, WeightSource } from '../huggingface/weights.ts';
import { isInRows } from '../quantize/kept-format.ts';
import type { MatrixSource } from '../huggingface/matrix-source.ts';

/** Format by bits of weights that are not stored in integers which native/ supports. */
const OWN: Readonly<Record<4 | 8, NativeFormat>> = {
  4: { bits: 4, blockSize: 64, hasOffsets: false, isStored: false },
  8: { bits: 8, blockSize: null, hasOffsets: false, isStored: false },
};

/** Format of a matrix as it is stored, if a build of `bits` keeps that and native/ has such weights. */
export function nativeFormat(
  weights: WeightSource,
  source: MatrixSource,
  bits: 4 | 8,
): NativeFormat {
  return storedFormat(weights, source, bits) ?? OWN[bits];
}

/** Format of the LM head: as it is stored in any build, otherwise 8 bits. */
export function headFormat(weights: WeightSource, source: MatrixSource): NativeFormat {
  return storedFormat(weights, source) ?? OWN[8];
}

/**
 * The format of native/ that has the integers of all of a matrix's tensors; null where there is none.
 * Tensors may differ: 4 bits fit into 8, and blocks into smaller ones with the same scale.
 * @param bits of the build, where it must be one that keeps them
 */
export function storedFormat(
  weights: WeightSource,
  { tensors, columns }: MatrixSource,
  bits?: 4 | 8,
): NativeFormat | null {
  const formats: NativeFormat[] = [];
  for (const { name, rows } of tensors) {
    const layout = weights.layout?.(name, [rows, columns]) ?? null;
    if (layout === null) return null;
    if (bits !== undefined && (layout.keptIn ?? layout.bits) !== bits) return null;
    const format = keptIn(layout, columns);
    if (format === null) return null;
    formats.push(format);
  }
  const sizes = formats.map(({ blockSize }) => blockSize);
  if (sizes.every((size) => size === null)) return OWN[8];
  // A whole row with one scale is not computed as blocks are.
  if (!sizes.every((size) => size !== null)) return null;
  const fewest = formats.every((format) => format.bits === 4) ? 4 : 8;
  const hasOffsets = formats.some((format) => format.hasOffsets);
  return withBlocks(fewest, Math.min(...sizes), hasOffsets);
}

/** How native/ keeps integers of a layout as they are; null where it cannot. */
export function keptIn(layout: StoredLayout, columns: number): NativeFormat | null {
  const { bits, blockSize, hasZeroPoints, hasOffsets = false, order } = layout;
  if (isInRows(layout, columns)) return OWN[8];
  if (order !== null) return null;
  return withBlocks(bits, blockSize, hasOffsets || hasZeroPoints);
}

/**
 * Format with blocks of at most `size`: a larger block becomes several with the same scale. The
 * smallest blocks have 8 bits only.
 */
function withBlocks(bits: 4 | 8, size: number, hasOffsets: boolean): NativeFormat | null {
  const kept = { hasOffsets, isStored: true };
  if (bits === 4 && size % 32 === 0) return { bits, blockSize: size % 64 === 0 ? 64 : 32, ...kept };
  if (size % 16 !== 0) return null;
  return { bits: 8, blockSize: size % 32 === 0 ? 32 : 16, ...kept };
}
