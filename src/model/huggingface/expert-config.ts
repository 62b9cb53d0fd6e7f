import { ModelError } from '../model-error.ts';
import type { HuggingFaceConfig } from './config-schema.ts';
import type { Family } from './families.ts';

/** Gates x and ups y of an expert: clamped to a limit, x * sigmoid(alpha * x) * (y + 1). */
export interface ClampedGates {
  readonly limit: number;
  readonly alpha: number;
}

/** The experts of a decoder's layers. */
export interface ExpertConfig {
  /** Of a layer. */
  readonly count: number;
  /** How many a router picks for a token. */
  readonly perToken: number;
  readonly intermediateSize: number;
  /** Whether the shares of a token's experts are made to add up to 1. */
  readonly normalizesShares: boolean;
  /** Of router and experts. */
  readonly bias: boolean;
  /** Null where gates are those of an MLP. */
  readonly clampedGates: ClampedGates | null;
  /** By layer: others have an MLP. */
  readonly layers: readonly boolean[];
}

/**
 * @param widths of MLPs by layer, and of experts if nothing else is said
 * @throws {ModelError} if there are experts in a family that has none, or fewer than a token needs
 */
export function parseExperts(
  hf: HuggingFaceConfig,
  { experts: rules }: Family,
  widths: readonly number[],
  origin: string,
): ExpertConfig | null {
  // Families' defaults are of the second name.
  const count = hf.num_local_experts ?? hf.num_experts ?? 0;
  if (rules === null) {
    if (count === 0) return null;
    throw new ModelError(
      `${origin}: a mixture of ${count} experts is not supported (supported: dense models)`,
    );
  }
  const perToken = hf.num_experts_per_tok ?? 1;
  if (perToken > count) {
    throw new ModelError(`${origin}: ${perToken} experts for a token are more than all ${count}`);
  }
  const [width = 0] = widths;
  if (widths.some((each) => each !== width)) {
    throw new ModelError(`${origin}: experts of other widths in each layer are not supported`);
  }
  const { swiglu_limit: limit, swiglu_alpha: alpha, decoder_sparse_step: step } = hf;
  return {
    count,
    perToken,
    intermediateSize: hf.moe_intermediate_size ?? width,
    normalizesShares: rules.normalizesShares === 'always' || hf[rules.normalizesShares],
    bias: rules.bias,
    clampedGates: limit && alpha ? { limit, alpha } : null,
    layers: Array.from({ length: hf.num_hidden_layers }, (_, layer) => {
      const isDense = hf.mlp_only_layers?.includes(layer) ?? false;
      return !isDense && (layer + 1) % (step ?? 1) === 0;
    }),
  };
}
