import { MICROSOFT_DOMAIN, type GraphBuilder } from '../../onnx/graph-builder.ts';
import { MadeOnce } from './make-matrix.ts';
import { type MatrixSource, rowsOf } from './matrix-source.ts';
import type { RowQuantizer } from './row-quantizer.ts';
import type { WeightSource } from '../huggingface/weights.ts';

/**
 * Adds `output = input W^T` with 8-bit integers on both sides, W by a scale per row and the input by
 * a scale per token ("W8A8, per channel and per token"). [tokens, columns] becomes [tokens, rows].
 * @param rowsLike a value [tokens]
 */
export function emitRowMatmul(
  graph: GraphBuilder,
  weights: WeightSource,
  source: MatrixSource,
  { output, input, rowsLike }: { output: string; input: string; rowsLike: string },
  quantizer: RowQuantizer,
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
  const one = graph.initializer(`${name}.unscaled`, 'float', [1], Float32Array.of(1));
  const activations = quantizer.quantize(input, rowsLike);
  const matmul = graph.node(
    `${output}/Unscaled`,
    'MatMulIntegerToFloat',
    [activations.values, values, one, scales, quantizer.zeroPoint],
    { domain: MICROSOFT_DOMAIN },
  );
  graph.node(output, 'Mul', [matmul, activations.scales]);
}
