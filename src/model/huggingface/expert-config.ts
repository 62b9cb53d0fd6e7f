import { ModelError } from '../model-error.ts';
import { type ExpertGroups, parseGroups, rejectOtherRouting } from './expert-groups.ts';
import type { HuggingFaceConfig } from './config-schema.ts';
import type { ExpertRules } from '../families/expert-rules.ts';
import type { Family } from '../families/family.ts';

/** Gates x and ups y of an expert: clamped to a limit, x * sigmoid(alpha * x) * (y + 1). */
export interface ClampedGates {
  readonly limit: number;
  readonly alpha: number;
}

/** The experts of a decoder's layers. */
export interface ExpertConfig {
  /** Experts of a layer. */
  readonly count: number;
  /** How many a router picks for a token. */
  readonly perToken: number;
  readonly intermediateSize: number;
  /** Intermediate size of the shared expert; null if none exists. */
  readonly sharedSize: number | null;
  /** Whether the shares of a token's experts are made to add up to 1. */
  readonly normalizesShares: boolean;
  readonly scoring: ExpertRules['scoring'];
  /** Noise that a sparse mixer's router had in training; left out for others. */
  readonly jitter?: number;
  /** Undefined where a token's experts are picked of all. */
  readonly groups?: ExpertGroups | undefined;
  /** Factor of all shares. */
  readonly shareFactor: number;
  /** Whether router and experts have biases. */
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
  { experts: rules, modelType, tensors, hasSingleBlocks }: Family,
  widths: readonly number[],
  origin: string,
): ExpertConfig | null {
  // Families' defaults are of the second name.
  const count = hf.num_local_experts ?? hf.num_experts ?? 0;
  if (rules === null) {
    // Hunyuan says that it has one, which is an MLP.
    if (count <= 1) return null;
    throw new ModelError(
      `${origin}: a mixture of ${count} experts is not supported (supported: dense models)`,
    );
  }
  const layers = expertLayers(hf, hasSingleBlocks === true);
  const areStated = hasSingleBlocks === true || hf.moe_layers || hf.decoder_sparse_step === 0;
  if (areStated && !layers.includes(true)) return null;
  const perToken = hf.num_experts_per_tok ?? 1;
  if (perToken > count) {
    throw new ModelError(`${origin}: ${perToken} experts for a token are more than all ${count}`);
  }
  if (rules.scoring === 'sparse mixer' && perToken !== 2) {
    throw new ModelError(`${origin}: ${modelType} picks 2 experts for a token, not ${perToken}`);
  }
  const [width = 0] = widths;
  if (widths.some((each) => each !== width)) {
    throw new ModelError(`${origin}: experts of other widths in each layer are not supported`);
  }
  if (hf.mlp_bias && !rules.bias) {
    throw new ModelError(`${origin}: experts with mlp_bias are not supported in ${modelType}`);
  }
  const ofExperts = typeof hf.intermediate_size === 'number' ? hf.intermediate_size : width;
  const own = hf.moe_intermediate_size ?? ofExperts;
  const sharedSize = hf.shared_expert_intermediate_size || (hf.n_shared_experts ?? 0) * own || null;
  if ((sharedSize === null) !== (tensors.layer.experts?.shared === null)) {
    throw new ModelError(
      sharedSize === null
        ? `${origin}: ${modelType} without an expert that all tokens share is not supported`
        : `${origin}: an expert that all tokens share is not supported in ${modelType}`,
    );
  }
  const isCorrected = (tensors.layer.experts?.correction ?? null) !== null;
  rejectOtherRouting(hf, rules, isCorrected, origin);
  const { swiglu_limit: limit, swiglu_alpha: alpha } = hf;
  return {
    count,
    perToken,
    intermediateSize: own,
    sharedSize,
    normalizesShares: rules.normalizesShares === 'always' || hf[rules.normalizesShares],
    scoring: rules.scoring,
    ...(rules.scoring === 'sparse mixer' && { jitter: hf.router_jitter_noise ?? 0 }),
    groups: parseGroups(hf, { count, perToken }, isCorrected, origin),
    shareFactor: hf.routed_scaling_factor ?? 1,
    bias: rules.bias,
    clampedGates: limit && alpha ? { limit, alpha } : null,
    layers,
  };
}

/** By layer, whether it has experts. @param areNamed whether layer types say so */
function expertLayers(hf: HuggingFaceConfig, areNamed: boolean): boolean[] {
  const { first_k_dense_replace: first, mlp_only_layers: dense, decoder_sparse_step: step } = hf;
  return Array.from({ length: hf.num_hidden_layers }, (_, layer) => {
    if (areNamed) return hf.layer_types?.[layer] === 'moe';
    if (hf.moe_layers) return hf.moe_layers.includes(layer);
    if (hf.mlp_layer_types) return hf.mlp_layer_types[layer] === 'sparse';
    const isDense = layer < (first ?? 0) || (dense?.includes(layer) ?? false);
    return !isDense && (layer + 1) % (step ?? 1) === 0;
  });
}
