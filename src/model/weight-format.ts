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

export type WeightFormat = FloatFormat | BlockFormat;

/** How a model's matrices are stored. */
export interface WeightFormats {
  readonly linear: WeightFormat;
  /** Token embedding and LM head, which may be one matrix. */
  readonly vocabulary: WeightFormat;
}

const FLOAT32: FloatFormat = { kind: 'float', type: 'float' };
const FLOAT16: FloatFormat = { kind: 'float', type: 'float16' };
const INT8: BlockFormat = { kind: 'blocks', bits: 8 };
const INT4: BlockFormat = { kind: 'blocks', bits: 4 };

export const WEIGHT_FORMATS: Readonly<Record<Precision, WeightFormats>> = {
  fp32: { linear: FLOAT32, vocabulary: FLOAT32 },
  fp16: { linear: FLOAT16, vocabulary: FLOAT16 },
  int8: { linear: INT8, vocabulary: INT8 },
  int4: { linear: INT4, vocabulary: INT8 },
};
