import type { HuggingFaceConfig } from './config-schema.ts';
import type { WindowRope } from '../families/family.ts';
import { ModelError } from '../model-error.ts';
import type { RopeScaling } from './rope-scaling.ts';

type RopeParameters = NonNullable<HuggingFaceConfig['rope_scaling']>;

export interface Rope {
  readonly theta: number;
  readonly scaling: RopeScaling;
  /** How many dimensions of a head have rotary embedding. */
  readonly rotaryDim: number;
  /**
   * Theta of layers with a sliding window, whose frequencies are not scaled; null if theirs are the
   * same.
   */
  readonly localTheta: number | null;
  /** See DecoderConfig. */
  readonly mropeAxes: readonly number[] | undefined;
  /** Longest sequence that the frequencies reach, in tokens. */
  readonly maxPositionEmbeddings: number;
}

/** Context that a config.json's rotary embedding also depends on. */
export interface RopeContext {
  readonly headDim: number;
  readonly windowRope: WindowRope;
  /** Longest sequence that will be computed, in tokens; the longest possible if left out. */
  readonly maxModelLen: number | undefined;
  /** Name of the configuration in errors. */
  readonly origin: string;
}

const DEFAULT_THETA = 10_000;

/** @throws {ModelError} if frequencies are scaled in a way that is not supported */
export function parseRope(hf: HuggingFaceConfig, context: RopeContext): Rope {
  const { full, sliding } = ropeByLayerType(hf);
  const isProportional = typeOf(full) === 'proportional';
  const partial =
    (isProportional ? 1 : full.partial_rotary_factor) ??
    hf.partial_rotary_factor ??
    (hf.rotary_dim ?? context.headDim) / context.headDim;
  const rotaryDim = Math.trunc(context.headDim * partial);
  if (rotaryDim % 2 !== 0 || rotaryDim > context.headDim) {
    throw new ModelError(
      `${context.origin}: partial_rotary_factor ${partial} turns ${rotaryDim} of ` +
        `${context.headDim} dimensions (supported: even numbers of them)`,
    );
  }
  const base =
    thetaOfLayers(hf, context.origin) ?? full.rope_theta ?? hf.rope_theta ?? DEFAULT_THETA;
  const theta = stretchedTheta(base, full, rotaryDim);
  const slidingType = typeOf(sliding);
  if (slidingType !== 'default') {
    throw new ModelError(
      `${context.origin}: rope scaling "${slidingType}" of sliding_attention layers is not ` +
        'supported (supported: default)',
    );
  }
  const scaling = parseScaling(full, hf, rotaryDim, context);
  const localTheta =
    sliding.rope_theta ?? hf.rope_local_base_freq ?? hf.rope_theta ?? DEFAULT_THETA;
  return {
    theta,
    scaling,
    rotaryDim,
    localTheta: context.windowRope === 'unscaled' ? localTheta : null,
    mropeAxes: parseAxes(full, rotaryDim, context.origin),
    maxPositionEmbeddings: reach(scaling, full, hf),
  };
}

/** Undefined where layers have no list of it. @throws {ModelError} if it has another length, or layers differ */
function thetaOfLayers(
  { layer_rope_theta: thetas, num_hidden_layers: numLayers }: HuggingFaceConfig,
  origin: string,
): number | undefined {
  if (!thetas) return undefined;
  if (thetas.length !== numLayers) {
    throw new ModelError(
      `${origin}: layer_rope_theta has ${thetas.length} values for ${numLayers} layers`,
    );
  }
  const [theta, ...others] = new Set(thetas.filter((each) => each !== 0));
  if (others.length === 0) return theta;
  throw new ModelError(
    `${origin}: layer_rope_theta ${theta} and ${others.join(', ')} is not supported (supported: one, and 0)`,
  );
}

function parseAxes(
  { mrope_section: sections, mrope_interleaved: isInterleaved }: RopeParameters,
  rotaryDim: number,
  origin: string,
): readonly number[] | undefined {
  if (!sections) return undefined;
  const pairs = rotaryDim / 2;
  // By turns, pairs that no section has are of the first axis.
  if (!isInterleaved && sections.reduce((sum, size) => sum + size, 0) !== pairs) {
    throw new ModelError(
      `${origin}: mrope_section ${sections.join(', ')} is not of the ${pairs} pairs of dimensions`,
    );
  }
  const inTurns = (pair: number) => {
    const axis = pair % sections.length;
    return pair < sections.length * (sections[axis] ?? 0) ? axis : 0;
  };
  return isInterleaved
    ? Array.from({ length: pairs }, (_, pair) => inTurns(pair))
    : sections.flatMap((size, axis) => Array.from({ length: size }, () => axis));
}

function ropeByLayerType({
  rope_parameters: parameters,
  rope_scaling: scaling,
}: HuggingFaceConfig): { full: RopeParameters; sliding: RopeParameters } {
  if (parameters && 'full_attention' in parameters) {
    return { full: parameters.full_attention, sliding: parameters.sliding_attention ?? {} };
  }
  return { full: parameters ?? scaling ?? {}, sliding: {} };
}

function typeOf(rope: RopeParameters): string {
  const type = rope.rope_type ?? rope.type ?? 'default';
  // Turns by rows and columns of images: for text it is the default.
  return type === 'mrope' ? 'default' : type;
}

/**
 * YaRN is also given to models whose max_position_embeddings is the length before it. Queries that grow
 * with the position are not built: up to the original length they are as others.
 */
function reach(
  scaling: RopeScaling,
  { llama_4_scaling_beta: growth }: RopeParameters,
  { max_position_embeddings: stated }: HuggingFaceConfig,
): number {
  if (scaling.type !== 'yarn') return stated;
  if (growth) return Math.min(stated, scaling.originalMaxPositionEmbeddings);
  return Math.max(stated, Math.floor(scaling.originalMaxPositionEmbeddings * scaling.factor));
}

function parseScaling(
  rope: RopeParameters,
  hf: HuggingFaceConfig,
  rotaryDim: number,
  { origin, maxModelLen = hf.max_position_embeddings }: RopeContext,
): RopeScaling {
  const type = typeOf(rope);
  const need = <T>(key: keyof RopeParameters, value: T | null | undefined): T => {
    if (value === null || value === undefined) {
      throw new ModelError(`${origin}: rope scaling "${type}" needs "${key}"`);
    }
    return value;
  };
  const originalMaxPositionEmbeddings =
    hf.original_max_position_embeddings ??
    rope.original_max_position_embeddings ??
    hf.max_position_embeddings;
  // Some configurations give only the two lengths.
  const factor = rope.factor ?? hf.max_position_embeddings / originalMaxPositionEmbeddings;
  switch (type) {
    case 'default':
    // Up to the positions that are stated, it is the same; longer texts are not served.
    case 'dynamic':
      return { type: 'default' };
    case 'linear':
      return { type, factor: need('factor', rope.factor) };
    case 'proportional':
      return { type, share: rope.partial_rotary_factor ?? 1, factor: rope.factor ?? 1 };
    case 'llama3': {
      const lowFreqFactor = need('low_freq_factor', rope.low_freq_factor);
      const highFreqFactor = need('high_freq_factor', rope.high_freq_factor);
      if (highFreqFactor < lowFreqFactor) {
        throw new ModelError(`${origin}: high_freq_factor must not be less than low_freq_factor`);
      }
      return {
        type,
        factor: need('factor', rope.factor),
        lowFreqFactor,
        highFreqFactor,
        originalMaxPositionEmbeddings,
      };
    }
    case 'yarn':
      return {
        type,
        factor,
        betaFast: rope.beta_fast ?? 32,
        betaSlow: rope.beta_slow ?? 1,
        truncate: rope.truncate ?? true,
        originalMaxPositionEmbeddings,
        attentionFactor: rope.attention_factor ?? yarnAttentionFactor(factor, rope),
      };
    case 'su':
    case 'longrope': {
      const isLong = maxModelLen > originalMaxPositionEmbeddings;
      const key = isLong ? 'long_factor' : 'short_factor';
      const factors = need(key, rope[key]);
      if (factors.length !== rotaryDim / 2) {
        throw new ModelError(
          `${origin}: ${key} has ${factors.length} values, expected ${rotaryDim / 2}`,
        );
      }
      const attentionFactor =
        (isLong ? rope.long_mscale : rope.short_mscale) ??
        rope.attention_factor ??
        longRopeAttentionFactor(factor, originalMaxPositionEmbeddings);
      return { type: 'longrope', factors, attentionFactor };
    }
    default:
      throw new ModelError(
        `${origin}: rope scaling "${type}" is not supported ` +
          '(supported: default, linear, dynamic, llama3, yarn, longrope, proportional)',
      );
  }
}

/** Hunyuan's scaling is called dynamic, and is the same at any length. */
function hasAlpha(rope: RopeParameters): boolean {
  return typeOf(rope) === 'dynamic' && Boolean(rope.alpha);
}

function stretchedTheta(theta: number, rope: RopeParameters, rotaryDim: number): number {
  return hasAlpha(rope) ? theta * (rope.alpha ?? 1) ** (rotaryDim / (rotaryDim - 2)) : theta;
}

/** As Transformers' modeling_rope_utils.py defines it. */
function yarnAttentionFactor(
  factor: number,
  { mscale, mscale_all_dim: mscaleAllDim }: RopeParameters,
): number {
  const scale = (multiplier: number): number =>
    factor <= 1 ? 1 : 0.1 * multiplier * Math.log(factor) + 1;
  return mscale && mscaleAllDim ? scale(mscale) / scale(mscaleAllDim) : scale(1);
}

/** As Transformers' modeling_rope_utils.py defines it. */
function longRopeAttentionFactor(factor: number, originalLength: number): number {
  return factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(originalLength));
}
