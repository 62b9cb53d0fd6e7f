import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GraphBuilder, MICROSOFT_DOMAIN } from '../../../src/onnx/graph-builder.ts';
import { IoBinding } from '../../../src/ort/io-binding.ts';
import { Session } from '../../../src/ort/session.ts';
import { Tensor } from '../../../src/ort/tensor.ts';
import { emitLinear, matrixOf } from '../../../src/model/graph/linear.ts';
import { nativeFormat } from '../../../src/model/native/native-format.ts';
import { emitNativeLinear } from '../../../src/model/native/native-linear.ts';
import { addNativeMatrix } from '../../../src/model/native/native-matrix.ts';
import type { Precision } from '../../../src/model/manifest.ts';
import { RandomWeights } from '../../../src/model/huggingface/random-weights.ts';
import { RowQuantizer } from '../../../src/model/quantize/row-quantizer.ts';
import { weightFormats } from '../../../src/model/quantize/weight-format.ts';
import { median } from './table.ts';

/**
 * A precision of ours with ONNX Runtime's kernels, 8 or 4 bits with those of native/, or 8 bits with one
 * activation scale for the whole batch.
 */
export type ProductKind = Precision | 'native8' | 'native4' | 'per-tensor';

export interface ProductShape {
  readonly rows: number;
  readonly inFeatures: number;
  readonly outFeatures: number;
}

/** Median milliseconds of one product [rows, in] x [in, out] with constant weights. */
export async function timeProduct(
  kind: ProductKind,
  { rows, inFeatures, outFeatures }: ProductShape,
  threads: number,
  repeats = 15,
): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'chairlift-product-'));
  const graph = new GraphBuilder('product');
  graph.input('input', 'float', [rows, inFeatures]);
  graph.input('rows', 'int64', [rows]);
  const product = emitProduct(graph, kind, inFeatures, outFeatures);
  graph.output(product, 'float', [rows, outFeatures]);
  const path = join(folder, 'product.onnx');
  await graph.write(path);
  const session = new Session(path, { intraOpThreads: threads, nativeKernels: isNative(kind) });
  const binding = new IoBinding(session);
  const values = Float32Array.from({ length: rows * inFeatures }, (_, at) => Math.sin(at));
  const input = Tensor.over('float', [rows, inFeatures], values);
  const rowsLike = Tensor.over('int64', [rows], new BigInt64Array(rows));
  const outputShape = [rows, outFeatures];
  const output = Tensor.over('float', outputShape, new Float32Array(rows * outFeatures));
  binding.bindInput('input', input);
  binding.bindInput('rows', rowsLike);
  binding.bindOutput(product, output);
  const times: number[] = [];
  for (let repeat = -3; repeat < repeats; repeat++) {
    const start = performance.now();
    session.run(binding);
    if (repeat >= 0) times.push(performance.now() - start);
  }
  for (const handle of [session, input, rowsLike, output]) handle.release();
  rmSync(folder, { recursive: true });
  return median(times);
}

function isNative(kind: ProductKind): kind is 'native8' | 'native4' {
  return kind === 'native8' || kind === 'native4';
}

function emitProduct(
  graph: GraphBuilder,
  kind: ProductKind,
  inFeatures: number,
  outFeatures: number,
): string {
  if (kind !== 'per-tensor') {
    const parts = [{ tensor: 'weights', outFeatures }];
    const layer = { name: 'product', inFeatures, parts, bias: false };
    const weights = new RandomWeights(1);
    if (isNative(kind)) {
      const source = matrixOf(layer);
      const format = nativeFormat(weights, source, kind === 'native8' ? 'int8' : 'int4', 1);
      const matrix = addNativeMatrix(graph, weights, source, format);
      return emitNativeLinear(graph, matrix, 'product', 'input');
    }
    const input = { value: 'input', rowsLike: 'rows' };
    const { linear } = weightFormats(kind, 'float');
    return emitLinear(graph, weights, layer, input, linear, new RowQuantizer(graph));
  }
  const values = Int8Array.from({ length: inFeatures * outFeatures }, (_, at) => (at * 37) % 127);
  const weights = graph.initializer('weights', 'int8', [inFeatures, outFeatures], values);
  const scale = graph.initializer('scale', 'float', [1], Float32Array.of(0.01));
  return graph.node('product', 'DynamicQuantizeMatMul', ['input', weights, scale], {
    domain: MICROSOFT_DOMAIN,
  });
}
