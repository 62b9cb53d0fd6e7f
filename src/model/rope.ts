/** How rotary frequencies are stretched to reach further than the model was trained for. */
export type RopeScaling =
  | { readonly type: 'default' }
  | { readonly type: 'linear'; readonly factor: number }
  | {
      readonly type: 'llama3';
      readonly factor: number;
      readonly lowFreqFactor: number;
      readonly highFreqFactor: number;
      readonly originalMaxPositionEmbeddings: number;
    };

export interface RopeShape {
  readonly headDim: number;
  readonly ropeTheta: number;
  readonly ropeScaling: RopeScaling;
  /** What a query's product with a key is multiplied by. */
  readonly attentionScale: number;
}

/** Angle that each pair of head dimensions turns by per position: `headDim / 2` values. */
export function rotaryFrequencies({
  headDim,
  ropeTheta,
  ropeScaling,
}: Omit<RopeShape, 'attentionScale'>): Float64Array {
  const frequencies = new Float64Array(headDim / 2);
  for (let i = 0; i < frequencies.length; i++) {
    frequencies[i] = scaleFrequency(ropeTheta ** ((-2 * i) / headDim), ropeScaling);
  }
  return frequencies;
}

function scaleFrequency(frequency: number, scaling: RopeScaling): number {
  if (scaling.type === 'default') {
    return frequency;
  }
  const stretched = frequency / scaling.factor;
  if (scaling.type === 'linear') {
    return stretched;
  }
  // Short wavelengths stay, long ones are stretched by the factor, and between the two borders
  // one passes smoothly into the other.
  const turns = (scaling.originalMaxPositionEmbeddings * frequency) / (2 * Math.PI);
  const { lowFreqFactor, highFreqFactor } = scaling;
  const kept = clamp01((turns - lowFreqFactor) / (highFreqFactor - lowFreqFactor));
  return kept * frequency + (1 - kept) * stretched;
}

function clamp01(value: number): number {
  return Math.min(1, Math.max(0, value));
}

/** Cosine and sine of every position's angles, each `[positions, headDim / 2]` row by row. */
export interface RotaryTables {
  readonly cos: Float32Array;
  readonly sin: Float32Array;
}

/**
 * What attention operators are to multiply scores by: nothing, since the rotary tables make queries
 * and keys shorter already. With one token of a row, ONNX Runtime's CPU kernels multiply by the cached
 * keys where they lie only if that factor is 1; else each head rearranges them first
 * (docs/performance-log.md).
 */
export const SCORE_SCALE = 1;

/**
 * Computes the rotary tables for positions `0` to `positions - 1`. Both are multiplied by the square
 * root of attention's scale, so that what they turn, queries and keys, have the scale in their products.
 */
export function rotaryTables(shape: RopeShape, positions: number): RotaryTables {
  const frequencies = rotaryFrequencies(shape);
  const half = frequencies.length;
  const length = Math.sqrt(shape.attentionScale);
  const cos = new Float32Array(positions * half);
  const sin = new Float32Array(positions * half);
  for (let position = 0; position < positions; position++) {
    frequencies.forEach((frequency, i) => {
      const angle = position * frequency;
      cos[position * half + i] = length * Math.cos(angle);
      sin[position * half + i] = length * Math.sin(angle);
    });
  }
  return { cos, sin };
}
