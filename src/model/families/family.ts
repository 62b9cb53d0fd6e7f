import type { ExpertRules } from './expert-rules.ts';
import type { DecoderSize, GgufTrait } from './gguf-names.ts';
import type { LatentNames } from './latent.ts';
import type { RecurrenceRules } from './recurrence.ts';
import type { VariedLayers } from './varied-layers.ts';

/**
 * When a linear layer has a bias: always, never, or if the flag of that name in config.json is set.
 */
export type BiasRule =
  | 'always'
  | 'never'
  | 'attention_bias'
  | 'attention_out_bias'
  | 'mlp_bias'
  | 'lm_head_bias';

/** Norms of queries and keys: as the family's others, but without a bias. */
export interface HeadNorms {
  /** `*` stands for a head's number, where each has a tensor. */
  readonly query: string;
  readonly key: string;
  /** A head, by weights that all share; each head, by weights of its own; or all heads together. */
  readonly over: 'head' | 'each head' | 'all heads';
  /** Rotary embedding comes after them, or before. */
  readonly isAfterRope: boolean;
}

/**
 * Names of what a layer has in place of an MLP where it has experts. `*` stands for an expert's number.
 * Checkpoints may hold the matrices of all experts as one tensor, see StackedExperts: by these names
 * each is read by itself.
 */
export interface ExpertTensorNames {
  /** The layer that scores every expert for a token. */
  readonly router: string;
  /** Null where experts have no gates. */
  readonly gate: string | null;
  readonly up: string;
  readonly down: string;
  /** Correction that is added to scores before the highest are picked, in full: [experts]; null if they stay. */
  readonly correction: string | null;
  /** Factors of experts' shares, in full: [experts]; left out if there are none. */
  readonly factors?: string;
  /** Null where tokens share none. */
  readonly shared: SharedExpertNames | null;
}

/** Names of the expert that every token has besides those that its router picks. */
export interface SharedExpertNames {
  /** Gate and up: one tensor for each, or one with both stacked. */
  readonly gateUp: readonly string[];
  readonly down: string;
  /** The layer with one output, whose sigmoid is the expert's share of a token; null if that is 1. */
  readonly share: string | null;
}

/** The matrix whose sigmoids gate attention's output. */
export interface AttentionGates {
  /** Name, relative to the layer, without `.weight`. */
  readonly tensor: string;
  /** Whether each head has one gate, or each of its dimensions. */
  readonly per: 'head' | 'dimension';
}

/** Names of what a layer has between attention and its MLP to attend to an encoder's output, as below. */
export interface CrossAttentionNames {
  readonly norm: string;
  readonly query: string;
  readonly keyValue: readonly [key: string, value: string];
  readonly output: string;
}

/** Names of a layer's tensors, without `.weight` and `.bias`, relative to the layer. */
export interface LayerTensorNames {
  /** Norm before attention; null if there is none. */
  readonly attentionNorm: string | null;
  /** Query, key and value: one tensor for each, or one with all three stacked. */
  readonly queryKeyValue: readonly string[];
  /** Norms of queries and keys; null if there are none. */
  readonly headNorms: HeadNorms | null;
  /**
   * Attention sinks that every query's head attends to in addition to the keys: [heads] scores; null if
   * the family has none.
   */
  readonly sinks: string | null;
  readonly attentionOutput: string;
  /** Norm of what attention adds to the hidden state; null if there is none. */
  readonly attentionOutputNorm: string | null;
  /** Norm before the MLP; null if there is none, or a parallel one reads what attention's gives. */
  readonly mlpNorm: string | null;
  /**
   * Gate and up: one tensor for each, or one with both stacked; an MLP without gates has its first
   * matrix here.
   */
  readonly gateUp: readonly string[];
  /** An activation that has weights, xIELU; null if it has none. */
  readonly activation: string | null;
  readonly down: string;
  /** Norm of what the MLP adds to the hidden state; null if there is none. */
  readonly mlpOutputNorm: string | null;
  /** Null in families without experts. */
  readonly experts: ExpertTensorNames | null;
}

/**
 * Which layers attend to `sliding_window` tokens only, where config.json has no `layer_types`: all of
 * them; with the flag `use_sliding_window` those from `max_window_layers` on; or all but the last or the first of
 * every `sliding_window_pattern`.
 */
export type WindowRule = 'all' | 'flag' | 'pattern' | 'pattern, whole first';

/**
 * Rotary frequencies of layers with a sliding window: those of all layers, or others that are not scaled;
 * or none but these layers have any, in models that have windows.
 */
export type WindowRope = 'same' | 'unscaled' | 'only';

/** Differences of one architecture family from the others that the decoder graph can express. */
export interface Family {
  /** `model_type` in config.json. */
  readonly modelType: string;
  /** Fields that tell it from others of its model_type, which come after it: by its own names, or by others'. */
  readonly variant: Readonly<Record<string, unknown>>;
  readonly bias: {
    readonly queryKeyValue: BiasRule;
    readonly attentionOutput: BiasRule;
    readonly mlp: BiasRule;
    readonly lmHead: BiasRule;
  };
  readonly slidingWindow: WindowRule;
  readonly windowRope: WindowRope;
  /** Dimensions of a head that turn together: i and i + half of them, or 2i and 2i + 1. */
  readonly rotaryPairs: 'halves' | 'neighbours';
  /** Norms by the root of the mean square, or by mean and deviation, with a bias or without. */
  readonly norms: 'rms' | 'layer' | 'layer without bias';
  /** Norms multiply by 1 plus their weight. */
  readonly normsAddOne: boolean;
  /** Whether an MLP multiplies what it activates by another half. */
  readonly gatesMlp: boolean;
  /** Rows of a fused query, key and value: all queries first, or those of a key, the key and its value. */
  readonly fusedOrder: 'by kind' | 'by group';
  /** Checkpoints have the matrices of layers as [in, out]. */
  readonly storesTransposed: boolean;
  /** Embeddings are multiplied by sqrt(hidden_size). */
  readonly scalesEmbedding: boolean;
  /** Defaults for what config.json leaves out, by its own names, or by others' if it has `names`. */
  readonly defaults: Readonly<Record<string, unknown>>;
  /** Fields of config.json that are so whatever it says. */
  readonly fixed: Readonly<Record<string, unknown>>;
  /** Names of fields in its config.json that other families call differently, by the others' names. */
  readonly names: Readonly<Record<string, string>>;
  /**
   * Queries and keys of layers with rotary embedding are normalized head by head, without weights: after that or
   * before it is the same. Left out where norms have weights, see `headNorms`, or there are none.
   */
  readonly normalizesTurnedHeads?: true;
  /** Queries have as many values more, head by head after its own: sigmoids of them gate attention's output. */
  readonly gatesAttention?: true;
  /** The same by a matrix of their own, without a bias. */
  readonly attentionGates?: AttentionGates;
  /** Left out where layers are alike. */
  readonly varied?: VariedLayers;
  /** Null where no layer has experts. */
  readonly experts: ExpertRules | null;
  /** A layer is one of its parts alone: what mixes tokens, or an MLP (`mlp`) or experts (`moe`) by its layer type. */
  readonly hasSingleBlocks?: true;
  /** Left out where all layers attend: builds of such families keep their names. */
  readonly recurrence?: RecurrenceRules;
  /** Left out where keys and values come from the hidden state; `queryKeyValue` is empty where they do not. */
  readonly latentAttention?: LatentNames;
  /** Left out where layers attend to the text alone. */
  readonly crossAttention?: CrossAttentionNames;
  readonly tensors: {
    readonly embedding: string;
    /** Embeddings of positions, which are added; null if there are none. */
    readonly positions: string | null;
    /** Row of the first position in these. */
    readonly firstPosition: number;
    readonly layerPrefix: string;
    readonly layer: LayerTensorNames;
    readonly finalNorm: string;
    readonly lmHead: string;
  };
}

/** How GGUF files hold the models of a family. */
export interface GgufNames {
  /** `general.architecture`. */
  readonly architecture: string;
  /** Sign in a file that distinguishes it from another family of the same architecture. */
  readonly ifFileHas?: GgufTrait;
  /**
   * Rows of queries and keys are in another order: dimensions i and i + half of each head, which turn
   * together, are neighbours.
   */
  readonly pairsRows?: boolean;
  /** Heads of values are in another order: the first of all keys before the second of all keys. */
  readonly tilesValueHeads?: boolean;
  /** Tensors that are not as in safetensors: several where there is one, or with rows in another order. */
  readonly form?: Partial<Pick<Family, 'recurrence' | 'tensors' | 'rotaryPairs'>>;
  /** Key of the width of MLPs; `feed_forward_length` if left out. */
  readonly mlpWidth?: 'expert_shared_feed_forward_length';
  /** Name of the norm before attention; `attn_norm` if left out. */
  readonly attentionNorm?: 'attn_norm' | 'attn_norm_2';
  /** Name of the norm before an MLP; `ffn_norm` if left out. */
  readonly mlpNorm?: 'ffn_norm' | 'post_attention_norm' | 'attn_norm';
  /** Without an end of its name. */
  readonly isMlpNormBare?: true;
  /** Name of the norm after the last layer; `output_norm` if left out. */
  readonly finalNorm?: 'output_norm' | 'token_embd_norm';
  /** Field of config.json that its `logit_scale` is; `logits_scaling`, a divisor, if left out. */
  readonly logitScale?: 'logits_scaling' | 'logit_scale';
  /**
   * How pairs of dimensions that turn by frames, rows and columns of images follow each other, of models that see
   * so: kind by kind, or in turns.
   */
  readonly imagePairs?: 'by kind' | 'in turns';
  /** Fields of config.json that GGUF files lack. */
  readonly extra?: (size: DecoderSize) => Readonly<Record<string, unknown>>;
  /** The same, which newer files have. */
  readonly unstated?: (size: DecoderSize) => Readonly<Record<string, unknown>>;
  /** Factor of YaRN's logarithmic multiplier in files; 1 if left out. */
  readonly logMultiplierFactor?: number;
  /** Fields of its `rope_scaling` that they lack, if there is any. */
  readonly extraOfRope?: Readonly<Record<string, unknown>>;
}

/** A family, and its GGUF files; null if llama.cpp does not have it. */
export interface KnownFamily {
  readonly family: Family;
  readonly gguf: GgufNames | null;
}

/** Whether a graph of the family has every token's position as a value. */
export function readsPositions({ tensors }: Family): boolean {
  return tensors.positions !== null || tensors.layer.headNorms?.isAfterRope === true;
}

/** A layer's tensor names in full, without `.weight` and `.bias`. */
export function layerTensorNames(family: Family, layer: number): LayerTensorNames {
  const full = (name: string): string => ofLayer(family, layer, name);
  const fullOrNull = (name: string | null) => (name === null ? null : full(name));
  const names = family.tensors.layer;
  return {
    attentionNorm: fullOrNull(names.attentionNorm),
    queryKeyValue: names.queryKeyValue.map(full),
    headNorms: names.headNorms && {
      ...names.headNorms,
      query: full(names.headNorms.query),
      key: full(names.headNorms.key),
    },
    sinks: fullOrNull(names.sinks),
    attentionOutput: full(names.attentionOutput),
    attentionOutputNorm: fullOrNull(names.attentionOutputNorm),
    mlpNorm: fullOrNull(names.mlpNorm),
    gateUp: names.gateUp.map(full),
    activation: fullOrNull(names.activation),
    down: full(names.down),
    mlpOutputNorm: fullOrNull(names.mlpOutputNorm),
    experts: names.experts && {
      router: full(names.experts.router),
      gate: fullOrNull(names.experts.gate),
      up: full(names.experts.up),
      down: full(names.experts.down),
      correction: fullOrNull(names.experts.correction),
      ...(names.experts.factors !== undefined && { factors: full(names.experts.factors) }),
      shared: names.experts.shared && {
        gateUp: names.experts.shared.gateUp.map(full),
        down: full(names.experts.shared.down),
        share: fullOrNull(names.experts.shared.share),
      },
    },
  };
}

/** A tensor's name in full. @param name relative to the layer */
export function ofLayer({ tensors }: Family, layer: number, name: string): string {
  return `${tensors.layerPrefix}.${layer}.${name}`;
}

/** A name with a number in place of `*`. */
export function numbered(name: string, number: number): string {
  return name.replace('*', String(number));
}

/** A parsed config.json with the names that other families have for its fields. */
export function withCommonNames(json: unknown, { names }: Family): Record<string, unknown> {
  const fields: Record<string, unknown> = { ...Object(json) };
  for (const [name, own] of Object.entries(names)) {
    // Null is what is left out.
    if (fields[own] !== undefined && fields[own] !== null) fields[name] = fields[own];
  }
  return fields;
}
