import { attentionFactor, scaledFrequency, type RotaryShape } from '../huggingface/rope-scaling.ts';

export interface RopeShape extends RotaryShape {
  readonly headDim: number;
  /** The factor of a query's dot product with a key. */
  readonly attentionScale: number;
}

/** Cosine and sine of every position's angles, each `[positions, headDim / 2]` row by row. */
export interface RotaryTables {
  readonly cos: Float32Array;
  readonly sin: Float32Array;
}

/**
 * The scale of attention operators: 1, since the rotary tables scale queries and keys already. For
 * a single token, ONNX Runtime's CPU kernels multiply by the cached keys in place only if the scale
 * is 1; otherwise each head rearranges them first (docs/performance-log.md).
 */
export const SCORE_SCALE = 1;

/**
 * Computes the rotary tables for positions `0` to `positions - 1`. Both are multiplied by the
 * square root of attention's scale, so that the dot products of queries and keys, which they
 * rotate, contain the scale. Pairs of dimensions from `rotaryDim / 2` on have the angle 0
 * everywhere: they stay as they are.
 */
export function rotaryTables(shape: RopeShape, positions: number): RotaryTables {
  const half = shape.headDim / 2;
  const numTurning = shape.rotaryDim / 2;
  const frequencies = Float64Array.from({ length: half }, (_, pair) =>
    pair < numTurning ? scaledFrequency(shape, pair) : 0,
  );
  const length = Math.sqrt(shape.attentionScale);
  const turnedLength = length * attentionFactor(shape.ropeScaling);
  const cos = new Float32Array(positions * half);
  const sin = new Float32Array(positions * half);
  for (let position = 0; position < positions; position++) {
    frequencies.forEach((frequency, pair) => {
      const angle = position * frequency;
      const factor = pair < numTurning ? turnedLength : length;
      cos[position * half + pair] = factor * Math.cos(angle);
      sin[position * half + pair] = factor * Math.sin(angle);
    });
  }
  return { cos, sin };
}
