import type { Precision } from './manifest.ts';

/** Weights as they are, in that element type; computed with as float32. */
export interface FloatFormat {
  readonly kind: 'float';
  readonly type: 'float' | 'float16';
}

/** Weights as small integers that share a scale per block of a row. */
export interface BlockFormat {
  readonly kind: 'blocks';
  readonly bits: 4 | 8;
}

/** Weights as 8-bit integers that share a scale per row, multiplied with 8-bit activations. */
export interface RowFormat {
  readonly kind: 'rows';
}

export type WeightFormat = FloatFormat | BlockFormat | RowFormat;

/** How a model's matrices are stored. */
export interface WeightFormats {
  readonly linear: WeightFormat;
  /** Token embedding and LM head, which may be one matrix: stored once if both are alike. */
  readonly embedding: FloatFormat | BlockFormat;
  readonly lmHead: WeightFormat;
}

const FLOAT32: FloatFormat = { kind: 'float', type: 'float' };
const FLOAT16: FloatFormat = { kind: 'float', type: 'float16' };
const INT8_BLOCKS: BlockFormat = { kind: 'blocks', bits: 8 };
const INT4_BLOCKS: BlockFormat = { kind: 'blocks', bits: 4 };
const INT8_ROWS: RowFormat = { kind: 'rows' };

/**
 * int8 is what is fastest with many tokens at once, int4 with few: its products are those of blocks,
 * the fastest ones for a single row.
 */
export const WEIGHT_FORMATS: Readonly<Record<Precision, WeightFormats>> = {
  fp32: { linear: FLOAT32, embedding: FLOAT32, lmHead: FLOAT32 },
  fp16: { linear: FLOAT16, embedding: FLOAT16, lmHead: FLOAT16 },
  int8: { linear: INT8_ROWS, embedding: INT8_BLOCKS, lmHead: INT8_ROWS },
  int4: { linear: INT4_BLOCKS, embedding: INT8_BLOCKS, lmHead: INT8_BLOCKS },
};
