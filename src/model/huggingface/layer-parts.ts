/** Parts that layers of Gemma 4 share with others, or have more than others. */
import type { Family } from '../families/family.ts';
import { ModelError } from '../model-error.ts';
import type { HuggingFaceConfig } from './config-schema.ts';
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

/**
 * See DecoderConfig.
 * @param heads of layers with a window
 * @throws {ModelError} if layers of one kind differ
 */
export function parseWholeHeads(
  hf: HuggingFaceConfig,
  { varied, slidingWindow }: Family,
  { numKvHeads, headDim }: KvHeads,
  origin: string,
): { readonly wholeHeads?: KvHeads; readonly valuesAreKeys?: true | undefined } {
  if (varied === undefined) return {};
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
export function parseKeyLayers(
  hf: HuggingFaceConfig,
  { varied, slidingWindow }: Family,
  origin: string,
): readonly number[] | undefined {
  if (varied === undefined) return undefined;
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

export function parseLayerInputs(
  hf: HuggingFaceConfig,
  { varied }: Family,
): LayerInputs | undefined {
  const width = hf.hidden_size_per_layer_input ?? 0;
  if (varied === undefined || width === 0) return undefined;
  return { width, vocabSize: hf.vocab_size_per_layer_input ?? hf.vocab_size };
}
