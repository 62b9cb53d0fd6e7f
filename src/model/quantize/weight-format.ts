import type { Precision } from '../manifest.ts';
import type { StoredLayout } from '../huggingface/weights.ts';

/** Element types of weights and activations that are not quantized. */
export type FloatType = 'float' | 'float16';

/** Weights as they are, in that element type. */
export interface FloatFormat {
  readonly kind: 'float';
  readonly type: FloatType;
  /** Type of the activations; weights stored as another type are cast to it. */
  readonly activations: FloatType;
}

/** Weights as small integers that share a scale per block of a row. */
export interface BlockFormat {
  readonly kind: 'blocks';
  readonly bits: 4 | 8;
  /** Type of the activations, and of the scales. */
  readonly activations: FloatType;
  /**
   * Layout of a matrix whose integers the checkpoint has: they are kept. If left out, they are
   * computed.
   */
  readonly stored?: StoredLayout;
}

/** Weights as 8-bit integers that share a scale per row, multiplied with 8-bit activations. */
export interface RowFormat {
  readonly kind: 'rows';
  /** Type of the activations before they become 8 bits, and of the product. */
  readonly activations: 'float';
  /** Step of these 8 bits, the same for all; each row of activations has its own if left out. */
  readonly step?: number | undefined;
}

/**
 * The `accuracy_level` of MatMulNBits with 8-bit activations, scaled per row and block: no row depends
 * on another.
 */
export const INT8_ACTIVATIONS = 4n;

export type WeightFormat = FloatFormat | BlockFormat | RowFormat;

/** How a model's matrices are stored. */
export interface WeightFormats {
  readonly linear: WeightFormat;
  /**
   * Token embedding and LM head, which may be one matrix: stored once if both have the same format.
   */
  readonly embedding: FloatFormat | BlockFormat;
  readonly lmHead: WeightFormat;
}

/**
 * int8 is fastest with many tokens at once, int4 with few: matmuls with weights in blocks are the
 * fastest for a single token.
 * @param activations int8 and int8-static have float only
 */
export function weightFormats(precision: Precision, activations: FloatType): WeightFormats {
  if (precision === 'int8' || precision === 'int8-static') {
    const rows: RowFormat = { kind: 'rows', activations: 'float' };
    return { linear: rows, embedding: { kind: 'blocks', bits: 8, activations }, lmHead: rows };
  }
  if (precision === 'int4') {
    const int8: BlockFormat = { kind: 'blocks', bits: 8, activations };
    return { linear: { kind: 'blocks', bits: 4, activations }, embedding: int8, lmHead: int8 };
  }
  const type = precision === 'fp16' ? 'float16' : 'float';
  const float: FloatFormat = { kind: 'float', type, activations };
  return { linear: float, embedding: float, lmHead: float };
}
