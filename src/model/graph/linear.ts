import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import { BlockMatrix } from '../quantize/block-matrix.ts';
import { castToActivations, floatInitializer } from '../quantize/float-matrix.ts';
import { makeMatrix } from '../quantize/make-matrix.ts';
import { emitRowMatmul } from '../quantize/row-matrix.ts';
import type { RowQuantizer } from '../quantize/row-quantizer.ts';
import { isKeptInParts, keptFormat } from '../quantize/kept-format.ts';
import { type MatrixSource, partsOf, rowsOf } from '../huggingface/matrix-source.ts';
import type { WeightFormat } from '../quantize/weight-format.ts';
import type { WeightSource } from '../huggingface/weights.ts';

/** One checkpoint tensor that makes up a linear layer, or a slice of one that is fused. */
export interface LinearPart {
  /** Tensor name without `.weight` and `.bias`. */
  readonly tensor: string;
  readonly outFeatures: number;
}

/**
 * A linear layer `y = x W^T + b`. Several parts that read the same input are fused into one
 * matmul; their outputs are side by side in the result.
 */
export interface LinearLayer {
  readonly name: string;
  readonly inFeatures: number;
  readonly parts: readonly LinearPart[];
  readonly bias: boolean;
}

/** The linear layers before and after what mixes tokens. */
export interface MixerLayers {
  readonly input: LinearLayer;
  /** Reads what `input` reads; null where all of it is in that. */
  readonly gates: LinearLayer | null;
  /** Those between `input` and what mixes; left out where there are none. */
  readonly inner?: readonly LinearLayer[];
  readonly output: LinearLayer;
}

/** A value [tokens, inFeatures], and one [tokens] to count its tokens by. */
export interface LinearInput {
  readonly value: string;
  readonly rowsLike: string;
}

/**
 * The parts of a layer whose outputs are side by side: a tensor each, or one tensor with all of
 * them.
 */
export function fusedParts(tensors: readonly string[], sizes: readonly number[]): LinearPart[] {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  return tensors.map((tensor, index) => ({
    tensor,
    outFeatures: tensors.length === 1 ? total : (sizes[index] ?? 0),
  }));
}

/** Adds a linear layer to the graph; returns its output's name. */
export function emitLinear(
  graph: GraphBuilder,
  weights: WeightSource,
  layer: LinearLayer,
  input: LinearInput,
  format: WeightFormat,
  quantizer: RowQuantizer,
): string {
  const source = matrixOf(layer);
  const emit = (of: MatrixSource) => emitMatmul(graph, weights, of, input, format, quantizer);
  const matmul = isKeptInParts(weights, source, format)
    ? graph.node(`${layer.name}/MatMul`, 'Concat', partsOf(source).map(emit), {
        attributes: { axis: -1n },
      })
    : emit(source);
  if (!layer.bias) {
    return matmul;
  }
  const shape = [totalOutFeatures(layer)];
  const bias = floatInitializer(graph, `${layer.name}.bias`, shape, format.activations, () =>
    loadBias(weights, layer),
  );
  return graph.node(`${layer.name}/Add`, 'Add', [matmul, bias]);
}

/** Matrix that a linear layer multiplies with. */
export function matrixOf({ name, parts, inFeatures }: LinearLayer): MatrixSource {
  const tensors = parts.map(({ tensor, outFeatures }) => ({
    name: `${tensor}.weight`,
    rows: outFeatures,
  }));
  return { name, tensors, columns: inFeatures };
}

function emitMatmul(
  graph: GraphBuilder,
  weights: WeightSource,
  source: MatrixSource,
  { value: input, rowsLike }: LinearInput,
  wanted: WeightFormat,
  quantizer: RowQuantizer,
): string {
  const { name, columns } = source;
  const output = `${name}/MatMul`;
  const format = keptFormat(weights, source, wanted);
  if (format.kind === 'blocks') {
    return new BlockMatrix(graph, weights, source, format).multiply(output, input);
  }
  if (format.kind === 'rows') {
    emitRowMatmul(graph, weights, source, { output, input, rowsLike }, quantizer, format.step);
    return output;
  }
  const shape = [columns, rowsOf(source)];
  const { type } = format;
  const stored = graph.initializer(`${name}.weight`, type, shape, async () => {
    return (await makeMatrix(weights, { kind: 'floats', source, type, isTransposed: true })).values;
  });
  return graph.node(output, 'MatMul', [input, castToActivations(graph, stored, format)]);
}

export async function loadBias(weights: WeightSource, layer: LinearLayer): Promise<Float32Array> {
  const fused = new Float32Array(totalOutFeatures(layer));
  let first = 0;
  for (const { tensor, outFeatures } of layer.parts) {
    fused.set(await weights.get(`${tensor}.bias`, [outFeatures]), first);
    first += outFeatures;
  }
  return fused;
}

function totalOutFeatures({ parts }: LinearLayer): number {
  return parts.reduce((sum, { outFeatures }) => sum + outFeatures, 0);
}
