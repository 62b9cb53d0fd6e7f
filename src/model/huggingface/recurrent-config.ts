import type { Family } from '../families/family.ts';
import type { RecurrenceRules } from '../families/recurrence.ts';
import { ModelError } from '../model-error.ts';
import type { HuggingFaceConfig } from './config-schema.ts';

/** Layers that have states of fixed size in place of attention, whatever they compute. */
interface RecurrentLayers {
  /** By layer: others attend. */
  readonly layers: readonly boolean[];
  /** These layers attend, too. */
  readonly isBesideAttention?: true | undefined;
  /** Tokens that each output of a convolution is made of, its own included. */
  readonly kernel: number;
  /** Channels that are convolved. */
  readonly channels: number;
  /** Values of the matrices of all heads; 0 where a convolution is all. */
  readonly matrixSize: number;
}

/** Short convolutions, over as many channels as hidden states have. */
export interface ShortConvolution extends RecurrentLayers {
  readonly kind: 'short convolution';
  /** Whether the convolution and the linear layers around it have biases. */
  readonly bias: boolean;
}

/** The gated delta rule. */
export interface GatedDelta extends RecurrentLayers {
  readonly kind: 'gated delta';
  /** Heads of values; each head of keys, and of queries, serves as many of them. */
  readonly numHeads: number;
  readonly keyHeads: number;
  readonly keyDim: number;
  readonly valueDim: number;
  /** Width of what decays and gates come from; null where that is the hidden state. */
  readonly narrowWidth: number | null;
  /** Epsilon of the norm of heads. */
  readonly epsilon: number;
}

/** Mamba-2's scan. */
export interface SelectiveScan extends RecurrentLayers {
  readonly kind: 'selective scan';
  readonly numHeads: number;
  readonly headDim: number;
  /** Groups of heads that share B and C; each is normalized by itself. */
  readonly numGroups: number;
  /** Values that each dimension of a head keeps. */
  readonly stateSize: number;
  /** Whether the linear layers before and after it have biases. */
  readonly bias: boolean;
  readonly outputBias: boolean;
  readonly convolutionBias: boolean;
  /** Limits of a token's step; null for none. */
  readonly steps: { readonly least: number; readonly most: number | null };
  /** Place of the norm after it. */
  readonly norm: 'after gates' | 'before gates' | 'none';
  readonly epsilon: number;
}

/** The layers of a decoder that have states of fixed size in place of attention. */
export type RecurrentConfig = ShortConvolution | GatedDelta | SelectiveScan;

/** As the operators have them: tokens that a convolution reads, and sizes. */
const KERNELS = { fewest: 2, most: 8 } as const;
const LANES = 16;
const MOST_CHANNELS = 65_536;
const MOST_DIMENSIONS = 256;

/**
 * Undefined where all layers attend.
 * @throws {ModelError} if a size is not supported
 */
export function parseRecurrence(
  hf: HuggingFaceConfig,
  family: Family,
  origin: string,
): RecurrentConfig | undefined {
  const { recurrence: rules } = family;
  if (rules === undefined) return undefined;
  const { isBesideAttention, isInAllLayers = isBesideAttention } = rules;
  const layers = Array.from(
    { length: hf.num_hidden_layers },
    (_, layer) =>
      isInAllLayers === true || rules.layerTypes.includes(typeOf(hf, layer, rules) ?? ''),
  );
  if (!layers.includes(true)) return undefined;
  const config = {
    ...PARSERS[rules.kind](hf, layers, origin, family),
    ...(isBesideAttention && { isBesideAttention }),
  };
  checkConvolution(config, origin);
  return config;
}

const PARSERS = {
  'short convolution': shortConvolution,
  'gated delta': gatedDelta,
  'selective scan': selectiveScan,
} as const;

function shortConvolution(hf: HuggingFaceConfig, layers: boolean[]): ShortConvolution {
  return {
    kind: 'short convolution',
    layers,
    kernel: hf.conv_L_cache ?? 0,
    channels: hf.hidden_size,
    matrixSize: 0,
    bias: hf.conv_bias,
  };
}

function gatedDelta(
  hf: HuggingFaceConfig,
  layers: boolean[],
  origin: string,
  { recurrence }: Family,
): GatedDelta {
  const { linear_num_value_heads: numHeads, linear_num_key_heads: keyHeads } = hf;
  const { linear_key_head_dim: keyDim, linear_value_head_dim: valueDim } = hf;
  checkDimensions([keyDim, valueDim], origin);
  if (numHeads % keyHeads !== 0) {
    throw new ModelError(
      `${origin}: linear_num_value_heads ${numHeads} is not a multiple of linear_num_key_heads ${keyHeads}`,
    );
  }
  const isNarrow = recurrence?.kind === 'gated delta' && recurrence.tensors.narrow !== undefined;
  return {
    kind: 'gated delta',
    layers,
    kernel: hf.linear_conv_kernel_dim,
    channels: 2 * keyHeads * keyDim + numHeads * valueDim,
    matrixSize: numHeads * keyDim * valueDim,
    numHeads,
    keyHeads,
    keyDim,
    valueDim,
    narrowWidth: isNarrow ? keyDim : null,
    epsilon: hf.rms_norm_eps,
  };
}

function selectiveScan(
  hf: HuggingFaceConfig,
  layers: boolean[],
  origin: string,
  { recurrence }: Family,
): SelectiveScan {
  const rules = recurrence?.kind === 'selective scan' ? recurrence : undefined;
  const { mamba_n_heads: numHeads, mamba_d_state: stateSize, mamba_n_groups: numGroups } = hf;
  const stated = hf.mamba_d_ssm ?? Math.trunc(hf.mamba_expand * hf.hidden_size);
  const headDim = typeof hf.mamba_d_head === 'number' ? hf.mamba_d_head : stated / numHeads;
  const width = rules?.hasOwnWidth === true ? numHeads * headDim : stated;
  if (numHeads * headDim !== width) {
    throw new ModelError(
      `${origin}: mamba_n_heads ${numHeads} of ${headDim} dimensions are not the ${width} of mamba_expand`,
    );
  }
  if (numHeads % numGroups !== 0) {
    throw new ModelError(
      `${origin}: mamba_n_heads ${numHeads} is not a multiple of mamba_n_groups ${numGroups}`,
    );
  }
  checkDimensions([headDim, stateSize], origin);
  const activation = hf.mamba_hidden_act ?? 'silu';
  if (activation !== 'silu') {
    throw new ModelError(
      `${origin}: mamba_hidden_act "${activation}" is not supported (supported: silu)`,
    );
  }
  const limits = rules?.hasLeastStep === true ? [hf.time_step_min ?? 0] : hf.time_step_limit;
  const [least = 0, most] = limits ?? [];
  return {
    kind: 'selective scan',
    layers,
    kernel: hf.mamba_d_conv,
    channels: width + 2 * numGroups * stateSize,
    matrixSize: width * stateSize,
    numHeads,
    headDim,
    numGroups,
    stateSize,
    bias: hf.mamba_proj_bias,
    outputBias: hf.projectors_bias ?? hf.mamba_proj_bias,
    convolutionBias: hf.mamba_conv_bias,
    steps: { least, most: typeof most === 'number' ? most : null },
    norm: normOf(hf),
    epsilon: hf.rms_norm_eps,
  };
}

function normOf(hf: HuggingFaceConfig): SelectiveScan['norm'] {
  if (!hf.mamba_rms_norm) return 'none';
  return hf.mamba_norm_before_gate ? 'before gates' : 'after gates';
}

function checkDimensions(dimensions: readonly number[], origin: string): void {
  const wrong = dimensions.find((dim) => dim % LANES !== 0 || dim > MOST_DIMENSIONS);
  if (wrong === undefined) return;
  throw new ModelError(
    `${origin}: states of heads of ${wrong} dimensions are not supported ` +
      `(supported: multiples of ${LANES} up to ${MOST_DIMENSIONS})`,
  );
}

function checkConvolution({ kernel, channels }: RecurrentConfig, origin: string): void {
  if (kernel < KERNELS.fewest || kernel > KERNELS.most) {
    throw new ModelError(
      `${origin}: a convolution of ${kernel} tokens is not supported ` +
        `(supported: ${KERNELS.fewest} to ${KERNELS.most})`,
    );
  }
  if (channels % LANES !== 0 || channels > MOST_CHANNELS) {
    throw new ModelError(
      `${origin}: a convolution of ${channels} channels is not supported ` +
        `(supported: multiples of ${LANES} up to ${MOST_CHANNELS})`,
    );
  }
}

function typeOf(
  hf: HuggingFaceConfig,
  layer: number,
  { layerTypes: [recurrent] }: RecurrenceRules,
): string | undefined {
  const { layer_types: types, full_attn_idxs: attends, full_attention_interval: interval } = hf;
  if (types) return types[layer];
  if (attends) return attends.includes(layer) ? 'full_attention' : recurrent;
  if (interval) return (layer + 1) % interval === 0 ? 'full_attention' : 'linear_attention';
  return undefined;
}
