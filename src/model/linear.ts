import type { GraphBuilder } from '../onnx/graph-builder.ts';
import { transposeInto } from './transpose.ts';
import type { WeightSource } from './weights.ts';

/** One checkpoint tensor that makes up a linear layer, or a slice of one that is fused. */
export interface LinearPart {
  /** Tensor name without `.weight` and `.bias`. */
  readonly tensor: string;
  readonly outFeatures: number;
}

/**
 * A linear layer `y = x W^T + b`. Several parts that read the same input are fused into one
 * product; their outputs lie side by side in the result.
 */
export interface LinearLayer {
  readonly name: string;
  readonly inFeatures: number;
  readonly parts: readonly LinearPart[];
  readonly bias: boolean;
}

/** Adds a linear layer to the graph; `input` is [..., inFeatures]. Returns its output's name. */
export function emitLinear(
  graph: GraphBuilder,
  weights: WeightSource,
  layer: LinearLayer,
  input: string,
): string {
  const outFeatures = totalOutFeatures(layer);
  const weight = graph.initializer(
    `${layer.name}.weight`,
    'float',
    [layer.inFeatures, outFeatures],
    () => loadTransposed(weights, layer),
  );
  const product = graph.node(`${layer.name}/MatMul`, 'MatMul', [input, weight]);
  if (!layer.bias) {
    return product;
  }
  const bias = graph.initializer(`${layer.name}.bias`, 'float', [outFeatures], () =>
    loadBias(weights, layer),
  );
  return graph.node(`${layer.name}/Add`, 'Add', [product, bias]);
}

/**
 * Adds the projection of hidden states [rows, hidden] to logits [rows, vocab], made as `logits`.
 * `weight` is an initializer [vocab, hidden], which may be the embedding's own.
 */
export function emitLmHead(
  graph: GraphBuilder,
  hidden: string,
  weight: string,
  logits: string,
): void {
  graph.node('lm_head/Gemm', 'Gemm', [hidden, weight], {
    outputs: [logits],
    attributes: { transB: 1n },
  });
}

/** All parts' weights, checkpoint order [out, in], as one [inFeatures, sum of outFeatures]. */
async function loadTransposed(weights: WeightSource, layer: LinearLayer): Promise<Float32Array> {
  const { inFeatures } = layer;
  const columns = totalOutFeatures(layer);
  const fused = new Float32Array(inFeatures * columns);
  let firstColumn = 0;
  for (const { tensor, outFeatures } of layer.parts) {
    const part = await weights.get(`${tensor}.weight`, [outFeatures, inFeatures]);
    transposeInto(part, outFeatures, inFeatures, fused, columns, firstColumn);
    firstColumn += outFeatures;
  }
  return fused;
}

async function loadBias(weights: WeightSource, layer: LinearLayer): Promise<Float32Array> {
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
