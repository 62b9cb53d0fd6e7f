import { emitActivation, emitGated, splitGates } from '../graph/activation.ts';
import { fusedParts } from '../graph/linear.ts';
import type { EncoderOps } from './encoder-ops.ts';
import { type EncoderReach, layerNames, type LayersConfig } from './encoder-shape.ts';

/** Attention of a layer: from queries, keys and values side by side to [tokens, heads * head_dim]. */
export type Attend = (
  name: string,
  fused: string,
  reach: EncoderReach,
  headNorms: readonly string[] | null,
  layer: number,
) => string;

/** Adds all layers of an encoder, of texts or of images; returns the sum that the last one makes. */
export function emitLayers(
  ops: EncoderOps,
  config: LayersConfig,
  input: string,
  attend: Attend,
): string {
  const layers = new LayersEmitter(ops, config, attend);
  let hidden = input;
  for (let layer = 0; layer < config.layers.length; layer++) hidden = layers.emit(layer, hidden);
  return hidden;
}

class LayersEmitter {
  readonly #ops: EncoderOps;
  readonly #config: LayersConfig;
  readonly #attention: Attend;

  constructor(ops: EncoderOps, config: LayersConfig, attention: Attend) {
    this.#ops = ops;
    this.#config = config;
    this.#attention = attention;
  }

  emit(layer: number, hidden: string): string {
    const ops = this.#ops;
    const names = layerNames(this.#config, layer);
    const before =
      names.beforeAttention === null ? hidden : ops.norm(names.beforeAttention, hidden);
    const attended = this.#attend(layer, before);
    const added = names.onAttention === null ? attended : ops.norm(names.onAttention, attended);
    const between = this.#join(added, hidden, names.afterAttention);
    const read = names.beforeMlp === null ? between : ops.norm(names.beforeMlp, between);
    const made = this.#mlp(layer, read);
    const narrow = names.onMlp === null ? made : ops.norm(names.onMlp, made);
    return this.#join(narrow, between, names.afterMlp);
  }

  #join(added: string, hidden: string, norm: string | null): string {
    return norm === null ? this.#ops.add(added, hidden) : this.#ops.norm(norm, added, hidden);
  }

  #attend(layer: number, hidden: string): string {
    const { hiddenSize, numHeads, numKvHeads, headDim, biases, layers } = this.#config;
    const names = layerNames(this.#config, layer);
    const name = `layer.${layer}/attention`;
    const sizes = [numHeads, numKvHeads, numKvHeads].map((heads) => heads * headDim);
    const fused = this.#ops.normalizedLinear(hidden, {
      name: `${name}.qkv`,
      inFeatures: hiddenSize,
      parts: fusedParts(names.queryKeyValue, sizes),
      bias: biases.queryKeyValue,
    });
    const reach = layers[layer] ?? { window: null, rope: null };
    const attended = this.#attention(name, fused, reach, names.headNorms, layer);
    return this.#ops.linear(attended, {
      name: `${name}.output`,
      inFeatures: numHeads * headDim,
      parts: [{ tensor: names.attentionOutput, outFeatures: hiddenSize }],
      bias: biases.attentionOutput,
    });
  }

  #mlp(layer: number, hidden: string): string {
    const { hiddenSize, intermediateSize, biases, gates } = this.#config;
    const names = layerNames(this.#config, layer);
    const name = `layer.${layer}/mlp`;
    const sizes = gates === null ? [intermediateSize] : [intermediateSize, intermediateSize];
    const wide = this.#ops.normalizedLinear(hidden, {
      name: `${name}.up`,
      inFeatures: hiddenSize,
      parts: fusedParts(names.up, sizes),
      bias: biases.up,
    });
    return this.#ops.linear(this.#activate(name, wide), {
      name: `${name}.down`,
      inFeatures: intermediateSize,
      parts: [{ tensor: names.down, outFeatures: hiddenSize }],
      bias: biases.down,
    });
  }

  #activate(name: string, wide: string): string {
    const { graph } = this.#ops;
    const { activation, gates } = this.#config;
    if (gates === null) return emitActivation(graph, wide, activation);
    if (gates === 'first') return emitGated(graph, name, wide, activation);
    const { gate: up, up: gate } = splitGates(graph, name, wide);
    return graph.node(`${name}/Mul`, 'Mul', [emitActivation(graph, gate, activation), up]);
  }
}
