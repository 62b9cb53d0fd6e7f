/** Parts that layers of Gemma 3n and 4 share with others, or have more than others. */
import type { Family } from '../families/family.ts';
import { ModelError } from '../model-error.ts';
import type { HuggingFaceConfig } from './config-schema.ts';
import { normalQuantile } from './normal-quantile.ts';
import { isSliding } from './sliding-windows.ts';

/** Heads of keys and values in a layer. */
export interface KvHeads {
  readonly numKvHeads: number;
  readonly headDim: number;
}

/** A second embedding, of which every layer has a part for each token. */
export interface LayerInputs {
  /** Channels of a layer's part. */
  readonly width: number;
  readonly vocabSize: number;
}

/** Several hidden states of each token. */
export interface StreamsConfig {
  readonly count: number;
  /** Whether what gates a layer's own embedding has factors. */
  readonly isScaled: boolean;
  /** Width between the two matrices of what is added to attention's output. */
  readonly residualRank: number;
}

/** Differences between layers; all undefined where they are alike. */
export interface LayerParts {
  /** Heads of keys and values in layers without a window. */
  readonly wholeHeads?: KvHeads | undefined;
  /** In layers without a window, whether values are what keys are made of; undefined if not. */
  readonly valuesAreKeys?: true | undefined;
  /** By layer, the one whose keys and values it reads; undefined where each has its own. */
  readonly keyLayers?: readonly number[] | undefined;
  /** Undefined where layers read the hidden state alone. */
  readonly layerInputs?: LayerInputs | undefined;
  /** Undefined where tokens have one hidden state. */
  readonly streams?: StreamsConfig | undefined;
  /**
   * By layer, how many deviations above their mean an MLP's gates begin to count; null where all do. Undefined where
   * no layer has such.
   */
  readonly gateFloors?: readonly (number | null)[] | undefined;
}

/**
 * @param heads of layers with a window
 * @throws {ModelError} if something of them is not supported
 */
export function parseLayerParts(
  hf: HuggingFaceConfig,
  family: Family,
  heads: KvHeads,
  origin: string,
): LayerParts {
  if (family.varied === undefined) return {};
  const parts = {
    ...parseWholeHeads(hf, family, heads, origin),
    keyLayers: parseKeyLayers(hf, family, origin),
    layerInputs: parseLayerInputs(hf),
  };
  if (family.varied.streams === undefined) return parts;
  return {
    ...parts,
    streams: parseStreams(hf, origin),
    gateFloors: parseGateFloors(hf, origin),
  };
}

/** @throws {ModelError} if layers of one kind differ */
function parseWholeHeads(
  hf: HuggingFaceConfig,
  { slidingWindow }: Family,
  { numKvHeads, headDim }: KvHeads,
  origin: string,
): Pick<LayerParts, 'wholeHeads' | 'valuesAreKeys'> {
  const valuesAreKeys = hf.attention_k_eq_v || undefined;
  const { per_layer_config: byLayer } = hf;
  if (!byLayer) {
    // As Transformers reads it: models that have values of their own have as many heads in all layers.
    const count = hf.attention_k_eq_v ? hf.num_global_key_value_heads : null;
    const wholeHeads = {
      numKvHeads: count ?? numKvHeads,
      headDim: hf.global_head_dim ?? headDim,
    };
    return { wholeHeads, valuesAreKeys };
  }
  const headsOf = (layer: number | undefined): KvHeads => {
    const { num_key_value_heads: count, head_dim: dim } = byLayer[String(layer)] ?? {};
    return { numKvHeads: count ?? numKvHeads, headDim: dim ?? headDim };
  };
  const layers = Array.from({ length: hf.num_hidden_layers }, (_, layer) => layer);
  const wholeHeads = headsOf(layers.find((layer) => !isSliding(hf, slidingWindow, layer)));
  for (const layer of layers) {
    const wanted = isSliding(hf, slidingWindow, layer) ? { numKvHeads, headDim } : wholeHeads;
    const heads = headsOf(layer);
    if (heads.numKvHeads !== wanted.numKvHeads || heads.headDim !== wanted.headDim) {
      throw new ModelError(
        `${origin}: per_layer_config of layer ${layer} is not supported (supported: heads that are the same in all layers of a type)`,
      );
    }
  }
  return { wholeHeads, valuesAreKeys };
}

/**
 * The last layers read the keys and values of the last one before them that is of their type.
 * @throws {ModelError} if there is none, or the last layer has a window
 */
function parseKeyLayers(
  hf: HuggingFaceConfig,
  { slidingWindow }: Family,
  origin: string,
): readonly number[] | undefined {
  const { num_hidden_layers: numLayers, num_kv_shared_layers: numShared } = hf;
  const areSliding = Array.from({ length: numLayers }, (_, layer) =>
    isSliding(hf, slidingWindow, layer),
  );
  if (areSliding.at(-1) === true) {
    throw new ModelError(
      `${origin}: a last layer with a sliding window is not supported (supported: layer types that end with full_attention)`,
    );
  }
  if (numShared === 0) return undefined;
  const numOwn = numLayers - numShared;
  return areSliding.map((type, layer) => {
    if (layer < numOwn) return layer;
    const found = areSliding.lastIndexOf(type, numOwn - 1);
    if (numOwn > 0 && found >= 0) return found;
    throw new ModelError(
      `${origin}: num_kv_shared_layers ${numShared} leaves no layer whose keys layer ${layer} could read`,
    );
  });
}

/**
 * @throws {ModelError} if layers compute another one than the first, have no embedding of their own, or the last one
 *   has keys of its own
 */
function parseStreams(hf: HuggingFaceConfig, origin: string): StreamsConfig {
  const { altup_active_idx: active, num_kv_shared_layers: numShared } = hf;
  if (active !== 0) {
    throw new ModelError(`${origin}: altup_active_idx ${active} is not supported (supported: 0)`);
  }
  if (numShared === 0) {
    throw new ModelError(
      `${origin}: num_kv_shared_layers 0 is not supported with altup_num_inputs (supported: 1 or more)`,
    );
  }
  const width = hf.hidden_size_per_layer_input ?? 0;
  if (width === 0) {
    throw new ModelError(
      `${origin}: hidden_size_per_layer_input 0 is not supported with altup_num_inputs (supported: 1 or more)`,
    );
  }
  return {
    count: hf.altup_num_inputs,
    isScaled: hf.altup_correct_scale,
    residualRank: hf.laurel_rank,
  };
}

/** Layers that are sparse where configurations do not say, of models with more, and their share. */
const SPARSE = { layers: 10, share: 0.95 } as const;

/** @throws {ModelError} if the list is of another length */
function parseGateFloors(hf: HuggingFaceConfig, origin: string): readonly (number | null)[] {
  const { num_hidden_layers: numLayers, activation_sparsity_scale: scales } = hf;
  const numSparse = numLayers > SPARSE.layers ? SPARSE.layers : 0;
  const shareOf = (layer: number) => (layer < numSparse ? SPARSE.share : 0);
  const layers = Array.from({ length: numLayers }, (_, layer) => layer);
  const pattern = hf.activation_sparsity_pattern ?? layers.map(shareOf);
  const shares = typeof pattern === 'number' ? layers.map(() => pattern) : pattern;
  const floors = scales ?? shares.map((share) => (share === 0 ? null : normalQuantile(share)));
  if (floors.length === numLayers) return floors;
  const field = scales ? 'activation_sparsity_scale' : 'activation_sparsity_pattern';
  throw new ModelError(`${origin}: ${field} has ${floors.length} values for ${numLayers} layers`);
}

function parseLayerInputs(hf: HuggingFaceConfig): LayerInputs | undefined {
  const width = hf.hidden_size_per_layer_input ?? 0;
  if (width === 0) return undefined;
  return { width, vocabSize: hf.vocab_size_per_layer_input ?? hf.vocab_size };
}
