import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import { int64s } from '../../onnx/int64s.ts';
import { ofLayer } from '../families/family.ts';
import type { LayerInputNames } from '../families/varied-layers.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import { cast, floatInitializer, scalar } from '../quantize/float-matrix.ts';
import { emitActivation } from './activation.ts';
import type { DecoderOps } from './decoder-ops.ts';
import type { ResidualSum } from './decoder-values.ts';
import { type MatrixSource, tableSource } from '../huggingface/matrix-source.ts';
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

/** Table [vocab, layers * width] of the second embedding; null where layers read the hidden state alone. */
export function layerInputTable(config: DecoderConfig): MatrixSource | null {
  const { layerInputs, numLayers } = config;
  if (layerInputs === undefined) return null;
  const { vocabSize, width } = layerInputs;
  return tableSource(namesOf(config).embedding, [vocabSize, numLayers * width]);
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
  const ids = vocabSize < config.vocabSize ? knownIds(graph, tokenIds, vocabSize) : tokenIds;
  const rows = ops.rowsOf(names.embedding, [vocabSize, all], ids, 'layer_inputs');
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
 * Makes of a layer's own embedding what it adds, before its norm: [rows, hidden].
 * @param value what gates it, [rows, hidden]
 * @param input the layer's part of `emitLayerInputs`, of the same rows
 */
export function emitLayerInput(
  ops: DecoderOps,
  { gate, output }: LayerInputLayers,
  value: string,
  { value: own, rowsLike }: LinearInput,
): string {
  const gates = ops.expert({ value, rowsLike }, gate);
  const activated = emitActivation(ops.graph, gates, ops.config.activation);
  const gated = ops.graph.node(`${gates}/Gated`, 'Mul', [activated, own]);
  return ops.expert({ value: gated, rowsLike }, output);
}

/** Norm of what `emitLayerInput` gives. */
export function layerInputNorm(config: DecoderConfig, layer: number): string {
  return ofLayer(config.family, layer, namesOf(config).norm);
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
    const output = emitLayerInput(ops, layers, value, input);
    const norm = layerInputNorm(config, layer);
    end = ops.add(output, { to: sum, norm, prefix: `layers.${layer}.input` });
  }
  if (family.varied?.scalar === undefined) return end;
  const tensor = ofLayer(family, layer, family.varied.scalar);
  const factor = floatInitializer(graph, tensor, [1], type, () => weights.get(tensor, [1]));
  const { value } = ops.norm(null, end);
  return { sum: graph.node(`${tensor}/Scaled`, 'Mul', [value, factor]) };
}

/** Ids with 0 in place of those that a table of fewer rows has not, as Transformers has them. */
function knownIds(graph: GraphBuilder, tokenIds: string, rows: number): string {
  const name = (part: string): string => `layer_inputs/${part}`;
  const ids = cast(graph, name('Ids'), tokenIds, 'int64');
  const end = int64s(graph, name('rows'), rows);
  const isKnown = graph.node(name('IsKnown'), 'Less', [ids, end]);
  return graph.node(name('Known'), 'Where', [isKnown, ids, int64s(graph, name('other'), 0)]);
}

function namesOf({ family }: DecoderConfig): LayerInputNames {
  if (family.varied === undefined) throw new TypeError('layers read the hidden state alone');
  return family.varied.inputs;
}
