import { int64s } from '../../onnx/int64s.ts';
import { ofLayer } from '../families/family.ts';
import type { LayerInputNames } from '../families/varied-layers.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import { floatInitializer, scalar } from '../quantize/float-matrix.ts';
import { emitActivation } from './activation.ts';
import type { DecoderOps } from './decoder-ops.ts';
import type { ResidualSum } from './decoder-values.ts';
import type { LinearInput, LinearLayer } from './linear.ts';
import { splitColumns } from './recurrence.ts';
import { emitRmsNorm } from './rms-norm.ts';

/** Linear layers of what a layer makes of its own embedding: a gate by the hidden state, and back to its width. */
interface LayerInputLayers {
  readonly gate: LinearLayer;
  readonly output: LinearLayer;
}

/** Null where layers read the hidden state alone. */
export function layerInputLayers(config: DecoderConfig, layer: number): LayerInputLayers | null {
  const { family, layerInputs, hiddenSize } = config;
  if (layerInputs === undefined) return null;
  const names = namesOf(config);
  const linear = (name: string, tensor: string, inFeatures: number, outFeatures: number) => ({
    name: `layers.${layer}.input.${name}`,
    inFeatures,
    parts: [{ tensor: ofLayer(family, layer, tensor), outFeatures }],
    bias: false,
  });
  return {
    gate: linear('gate', names.gate, hiddenSize, layerInputs.width),
    output: linear('output', names.output, layerInputs.width, hiddenSize),
  };
}

/**
 * Values that every layer is given of each token: parts of a second embedding, and of a product with the first one.
 * @param embedded [tokens, hidden]
 * @returns by layer, the name of [tokens, width]; null where layers read the hidden state alone
 */
export function emitLayerInputs(
  ops: DecoderOps,
  tokenIds: string,
  embedded: string,
): readonly string[] | null {
  const { graph, config, type } = ops;
  const { layerInputs, numLayers, hiddenSize, rmsNormEps } = config;
  if (layerInputs === undefined) return null;
  const { width, vocabSize } = layerInputs;
  const names = namesOf(config);
  const all = numLayers * width;
  const rows = ops.rowsOf(names.embedding, [vocabSize, all], tokenIds, 'layer_inputs');
  // The sum of both is divided by the root of 2.
  const half = Math.sqrt(1 / 2);
  const scale = scalar(graph, 'layer_inputs/scale', type, Math.sqrt(width) * half);
  const scaled = graph.node('layer_inputs/Scaled', 'Mul', [rows, scale]);
  const product = ops.expert(
    { value: embedded, rowsLike: tokenIds },
    {
      name: 'layer_inputs.projection',
      inFeatures: hiddenSize,
      parts: [{ tensor: names.projection, outFeatures: all }],
      bias: false,
    },
  );
  const byLayer = graph.node('layer_inputs/ByLayer', 'Reshape', [
    product,
    int64s(graph, 'layer_inputs/by_layer', -1, numLayers, width),
  ]);
  const weight = ops.norms.weight(names.projectionNorm, width, half);
  // The product is divided by the root of its inputs: the norm gives the same with another epsilon.
  const epsilon = rmsNormEps * hiddenSize;
  const normalized = emitRmsNorm(graph, 'layer_inputs/Norm', byLayer, weight, epsilon);
  const flat = graph.node('layer_inputs/Flat', 'Reshape', [
    normalized,
    int64s(graph, 'layer_inputs/flat', -1, all),
  ]);
  const sum = graph.node('layer_inputs/Sum', 'Add', [flat, scaled]);
  const sizes = Array.from({ length: numLayers }, (_, layer) => [`Layer${layer}`, width] as const);
  return splitColumns(ops, sum, sizes);
}

/**
 * Ends a layer: adds what it makes of its own embedding, and multiplies the sum, where the family has that.
 * @param input the layer's part of `emitLayerInputs`, of the rows that are still computed; null if there is none
 */
export function endLayer(
  ops: DecoderOps,
  layer: number,
  start: ResidualSum,
  input: LinearInput | null,
): ResidualSum {
  const { graph, config, weights, type } = ops;
  const { family } = config;
  const layers = layerInputLayers(config, layer);
  let end = start;
  if (layers !== null && input !== null) {
    const { sum, value } = ops.norm(null, end);
    const { rowsLike } = input;
    const gate = ops.expert({ value, rowsLike }, layers.gate);
    const activated = emitActivation(graph, gate, config.activation);
    const gated = graph.node(`${gate}/Gated`, 'Mul', [activated, input.value]);
    const output = ops.expert({ value: gated, rowsLike }, layers.output);
    const norm = ofLayer(family, layer, namesOf(config).norm);
    end = ops.add(output, { to: sum, norm, prefix: `layers.${layer}.input` });
  }
  if (family.varied === undefined) return end;
  const tensor = ofLayer(family, layer, family.varied.scalar);
  const factor = floatInitializer(graph, tensor, [1], type, () => weights.get(tensor, [1]));
  const { value } = ops.norm(null, end);
  return { sum: graph.node(`${tensor}/Scaled`, 'Mul', [value, factor]) };
}

function namesOf({ family }: DecoderConfig): LayerInputNames {
  if (family.varied === undefined) throw new TypeError('layers read the hidden state alone');
  return family.varied.inputs;
}
