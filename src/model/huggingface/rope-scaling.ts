/** How rotary frequencies are stretched to reach further than the model was trained for. */
export type RopeScaling =
  | { readonly type: 'default' }
  | { readonly type: 'linear'; readonly factor: number }
  /** Frequencies of all dimensions, and a share of them, the first, that turn. */
  | { readonly type: 'proportional'; readonly share: number; readonly factor: number }
  | {
      readonly type: 'llama3';
      readonly factor: number;
      readonly lowFreqFactor: number;
      readonly highFreqFactor: number;
      readonly originalMaxPositionEmbeddings: number;
    }
  | {
      readonly type: 'yarn';
      readonly factor: number;
      /** Turns within the original length above which a frequency stays. */
      readonly betaFast: number;
      /** Turns below which it is stretched by the whole factor. */
      readonly betaSlow: number;
      /** Whether the borders between the two are rounded to whole pairs of dimensions. */
      readonly truncate: boolean;
      readonly originalMaxPositionEmbeddings: number;
      /** The factor of queries and keys at rotary embedding. */
      readonly attentionFactor: number;
    }
  | {
      readonly type: 'longrope';
      /** Divisors of the frequencies: the factors for short texts or those for long ones. */
      readonly factors: readonly number[];
      /** The factor of queries and keys at rotary embedding. */
      readonly attentionFactor: number;
    };

type Yarn = Extract<RopeScaling, { type: 'yarn' }>;
type Llama3 = Extract<RopeScaling, { type: 'llama3' }>;

export interface RotaryShape {
  /** How many dimensions of a head have rotary embedding. */
  readonly rotaryDim: number;
  readonly ropeTheta: number;
  readonly ropeScaling: RopeScaling;
}

/**
 * The frequency of a pair of dimensions after scaling, by the definitions of Transformers
 * (modeling_rope_utils.py).
 * @param index of the pair, from 0
 */
export function scaledFrequency(shape: RotaryShape, index: number): number {
  const { rotaryDim, ropeTheta, ropeScaling: scaling } = shape;
  const frequency = ropeTheta ** ((-2 * index) / rotaryDim);
  switch (scaling.type) {
    case 'default':
      return frequency;
    case 'linear':
      return frequency / scaling.factor;
    case 'proportional':
      return index < Math.floor((scaling.share * rotaryDim) / 2) ? frequency / scaling.factor : 0;
    case 'longrope':
      return frequency / (scaling.factors[index] ?? 1);
    case 'llama3':
      return stretch(frequency, scaling.factor, llama3Kept(frequency, scaling));
    case 'yarn':
      return stretch(frequency, scaling.factor, yarnKept(index, shape, scaling));
  }
}

/** The factor of queries and keys at rotary embedding. */
export function attentionFactor(scaling: RopeScaling): number {
  return 'attentionFactor' in scaling ? scaling.attentionFactor : 1;
}

/** @param kept from 0, divided by the factor, to 1, left as it is */
function stretch(frequency: number, factor: number, kept: number): number {
  return kept * frequency + ((1 - kept) * frequency) / factor;
}

/** Short wavelengths stay, long ones are stretched, with a smooth transition in between, or none. */
function llama3Kept(
  frequency: number,
  { originalMaxPositionEmbeddings, lowFreqFactor, highFreqFactor }: Llama3,
): number {
  const turns = (originalMaxPositionEmbeddings * frequency) / (2 * Math.PI);
  if (highFreqFactor === lowFreqFactor) return turns < lowFreqFactor ? 0 : 1;
  return clamp01((turns - lowFreqFactor) / (highFreqFactor - lowFreqFactor));
}

/** The same with a linear transition over the pairs of dimensions. */
function yarnKept(
  index: number,
  { rotaryDim, ropeTheta }: RotaryShape,
  { originalMaxPositionEmbeddings, betaFast, betaSlow, truncate }: Yarn,
): number {
  const pairTurning = (turns: number): number =>
    (rotaryDim * Math.log(originalMaxPositionEmbeddings / (turns * 2 * Math.PI))) /
    (2 * Math.log(ropeTheta));
  const [fast, slow] = [pairTurning(betaFast), pairTurning(betaSlow)];
  const low = Math.max(truncate ? Math.floor(fast) : fast, 0);
  const high = Math.min(truncate ? Math.ceil(slow) : slow, rotaryDim - 1);
  // As in the definition, a border of no width has one.
  const width = low === high ? 0.001 : high - low;
  return 1 - clamp01((index - low) / width);
}

function clamp01(value: number): number {
  return Math.min(1, Math.max(0, value));
}
