import type { HuggingFaceConfig } from './config-schema.ts';
import { ModelError } from './errors.ts';
import type { RopeScaling } from './rope.ts';

type RopeParameters = NonNullable<HuggingFaceConfig['rope_scaling']>;

export interface Rope {
  readonly theta: number;
  readonly scaling: RopeScaling;
  /** Of layers with a sliding window; null if theirs is the same. */
  readonly localTheta: number | null;
}

/**
 * @param origin what to call the configuration in errors
 * @throws {ModelError} if frequencies are scaled in a way that is not supported
 */
export function parseRope(hf: HuggingFaceConfig, origin: string): Rope {
  const byLayerType = ropeByLayerType(hf);
  const { full } = byLayerType;
  return {
    theta: full?.rope_theta ?? hf.rope_theta ?? 10_000,
    scaling: parseScaling(full, hf.max_position_embeddings, origin),
    localTheta: byLayerType.sliding?.rope_theta ?? hf.rope_local_base_freq ?? null,
  };
}

function ropeByLayerType({
  rope_parameters: parameters,
  rope_scaling: scaling,
}: HuggingFaceConfig): {
  full: RopeParameters | undefined;
  sliding?: RopeParameters;
} {
  if (parameters && 'full_attention' in parameters) {
    return { full: parameters.full_attention, sliding: parameters.sliding_attention };
  }
  return { full: parameters ?? scaling ?? undefined };
}

function parseScaling(
  rope: RopeParameters | undefined,
  maxPositionEmbeddings: number,
  origin: string,
): RopeScaling {
  const type = rope?.rope_type ?? rope?.type ?? 'default';
  const need = (key: 'factor' | 'low_freq_factor' | 'high_freq_factor'): number => {
    const value = rope?.[key];
    if (value === undefined) {
      throw new ModelError(`${origin}: rope scaling "${type}" needs "${key}"`);
    }
    return value;
  };
  switch (type) {
    case 'default':
      return { type };
    case 'linear':
      return { type, factor: need('factor') };
    case 'llama3': {
      const lowFreqFactor = need('low_freq_factor');
      const highFreqFactor = need('high_freq_factor');
      if (highFreqFactor <= lowFreqFactor) {
        throw new ModelError(`${origin}: high_freq_factor must be greater than low_freq_factor`);
      }
      return {
        type,
        factor: need('factor'),
        lowFreqFactor,
        highFreqFactor,
        originalMaxPositionEmbeddings:
          rope?.original_max_position_embeddings ?? maxPositionEmbeddings,
      };
    }
    default:
      throw new ModelError(
        `${origin}: rope scaling "${type}" is not supported (supported: default, linear, llama3)`,
      );
  }
}
