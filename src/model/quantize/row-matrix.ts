import { MICROSOFT_DOMAIN, type GraphBuilder } from '../../onnx/graph-builder.ts';
import { MadeOnce } from './make-matrix.ts';
import { type MatrixSource, rowsOf } from '../huggingface/matrix-source.ts';
import type { RowQuantizer } from './row-quantizer.ts';
import type { WeightSource } from '../huggingface/weights.ts';

/**
 * Adds `output = input W^T` with 8-bit integers on both sides, W by a scale per row and the input by
 * a scale per token ("W8A8, per channel and per token"). [tokens, columns] becomes [tokens, rows].
 * @param rowsLike a value [tokens]
 * @param step of the input's integers, where it is the same for all tokens
 */
export function emitRowMatmul(
  graph: GraphBuilder,
  weights: WeightSource,
  source: MatrixSource,
  { output, input, rowsLike }: { output: string; input: string; rowsLike: string },
  quantizer: RowQuantizer,
  step?: number,
): void {
  const { name, columns } = source;
  const rows = rowsOf(source);
  const made = new MadeOnce(weights, { kind: 'rows', source });
  const values = graph.initializer(`${name}.weight_int8`, 'int8', [columns, rows], async () => {
    return (await made.load()).values;
  });
  const scales = graph.initializer(`${name}.weight_scales`, 'float', [rows], async () => {
    return (await made.loadLast()).scales;
  });
  const product = (node: string, inputs: readonly string[]) =>
    graph.node(node, 'MatMulIntegerToFloat', inputs, { domain: MICROSOFT_DOMAIN });
  if (step !== undefined) {
    const constant = quantizer.quantizeBy(input, step);
    const zeroPoint = quantizer.constantZeroPoint;
    product(output, [constant.values, values, constant.step, scales, zeroPoint]);
    return;
  }
  const one = graph.initializer(`${name}.unscaled`, 'float', [1], Float32Array.of(1));
  const activations = quantizer.quantize(input, rowsLike);
  const matmul = product(`${output}/Unscaled`, [
    activations.values,
    values,
    one,
    scales,
    quantizer.zeroPoint,
  ]);
  graph.node(output, 'Mul', [matmul, activations.scales]);
}
