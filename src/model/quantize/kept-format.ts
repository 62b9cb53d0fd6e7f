import type { StoredLayout, WeightSource } from '../huggingface/weights.ts';
import { type MatrixSource, partsOf } from '../huggingface/matrix-source.ts';
import { sharedLayout } from './stored-blocks.ts';
import type { WeightFormat } from './weight-format.ts';

/**
 * The format of a matrix: that of its checkpoint, if it has integers of as many bits as the format.
 * Integers with a scale for a whole row are kept by `rows` itself.
 */
export function keptFormat(
  weights: WeightSource,
  source: MatrixSource,
  format: WeightFormat,
): WeightFormat {
  if (format.kind === 'float') return format;
  const stored = sharedLayout(weights, source);
  const bits = format.kind === 'rows' ? 8 : format.bits;
  if (stored === null || (stored.keptIn ?? stored.bits) !== bits) return format;
  if (format.kind === 'rows' && isInRows(stored, source.columns)) return format;
  return { kind: 'blocks', bits: stored.bits, activations: format.activations, stored };
}

/** Whether a matrix's tensors are products by themselves: a format keeps all, but they are not alike. */
export function isKeptInParts(
  weights: WeightSource,
  source: MatrixSource,
  format: WeightFormat,
): boolean {
  if (source.tensors.length === 1 || isKept(weights, source, format)) return false;
  return partsOf(source).every((part) => isKept(weights, part, format));
}

function isKept(weights: WeightSource, source: MatrixSource, format: WeightFormat): boolean {
  return format.kind !== 'float' && keptFormat(weights, source, format) !== format;
}

/** Whether a layout is that of `rows`. */
export function isInRows(
  { bits, blockSize, hasZeroPoints, hasOffsets, order }: StoredLayout,
  columns: number,
): boolean {
  const isPlain = !hasZeroPoints && !hasOffsets && order === null;
  return bits === 8 && blockSize >= columns && isPlain;
}
