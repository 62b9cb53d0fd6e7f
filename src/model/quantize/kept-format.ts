import type { StoredLayout, WeightSource } from '../huggingface/weights.ts';
import type { MatrixSource } from './matrix-source.ts';
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
  if (stored?.bits !== bits) return format;
  if (format.kind === 'rows' && isInRows(stored, source.columns)) return format;
  return { kind: 'blocks', bits, activations: format.activations, stored };
}

/** Whether a layout is that of `rows`. */
export function isInRows(
  { bits, blockSize, hasZeroPoints, order }: StoredLayout,
  columns: number,
): boolean {
  return bits === 8 && blockSize >= columns && !hasZeroPoints && order === null;
}
