import { create, toBinary } from '@bufbuild/protobuf';
import { type FileHandle, open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuiltModel } from '../../../src/model/manifest.ts';
import { ExternalDataWriter } from '../../../src/onnx/external-data.ts';
import { MICROSOFT_DOMAIN } from '../../../src/onnx/graph-builder.ts';
import type { Initializer } from '../../../src/onnx/initializer.ts';
import { ModelProtoSchema, NodeProtoSchema, type TensorProto } from '../../../src/onnx/onnx_pb.ts';
import { parseModel } from '../../../src/onnx/parsed-model.ts';
import { externalTensor, inlineTensor } from '../../../src/onnx/protos.ts';

const DATA_FILE = 'decoder.onnx.data';

/**
 * A variant of a model's graphs for comparison: all products by DynamicQuantizeMatMul, that is 8-bit
 * weights with a scale per column and 8-bit activations with one scale for the whole batch.
 * @param model built in fp32
 * @param folder where the variant is written
 */
export async function writePerTensorModel(model: BuiltModel, folder: string): Promise<BuiltModel> {
  const writer = await VariantWriter.open(`${model.graphPath}.data`, join(folder, DATA_FILE));
  const graphPath = join(folder, 'decoder.onnx');
  const mixedGraphPath = join(folder, 'mixed.onnx');
  await writer.rewrite(model.graphPath, graphPath);
  await writer.rewrite(model.mixedGraphPath, mixedGraphPath);
  await writer.close();
  return { ...model, graphPath, mixedGraphPath, weightsFolder: folder };
}

/** Rewrites graphs that share their weights. */
class VariantWriter {
  readonly #source: FileHandle;
  readonly #data: ExternalDataWriter;
  /** By the name of the weights they stand for: integers, then scales. */
  readonly #quantized = new Map<string, readonly [TensorProto, TensorProto]>();
  readonly #copied = new Map<string, TensorProto>();

  private constructor(source: FileHandle, data: ExternalDataWriter) {
    this.#source = source;
    this.#data = data;
  }

  static async open(sourcePath: string, dataPath: string): Promise<VariantWriter> {
    return new VariantWriter(await open(sourcePath), await ExternalDataWriter.create(dataPath));
  }

  async rewrite(from: string, to: string): Promise<void> {
    const { model, graph } = parseModel(await readFile(from));
    const stored = new Map(graph.initializer.map((tensor) => [tensor.name, tensor]));
    const added: TensorProto[] = [];
    for (const [index, node] of graph.node.entries()) {
      const [input = '', name = ''] = node.input;
      const weights = stored.get(name);
      if ((node.opType !== 'MatMul' && node.opType !== 'Gemm') || weights === undefined) continue;
      const [integers, scales] = await this.#quantize(weights, node.opType === 'Gemm');
      added.push(integers, scales);
      graph.node[index] = create(NodeProtoSchema, {
        name: node.name,
        opType: 'DynamicQuantizeMatMul',
        domain: MICROSOFT_DOMAIN,
        input: [input, integers.name, scales.name],
        output: node.output,
      });
    }
    if (added.length === 0) throw new Error(`${from} has no products to replace`);
    const used = new Set(graph.node.flatMap(({ input }) => input));
    for (const tensor of graph.initializer) {
      if (used.has(tensor.name)) added.push(await this.#copy(tensor));
    }
    graph.initializer = added;
    await writeFile(to, toBinary(ModelProtoSchema, model));
  }

  async close(): Promise<void> {
    await Promise.all([this.#source.close(), this.#data.close()]);
  }

  async #quantize(
    weights: TensorProto,
    isTransposed: boolean,
  ): Promise<readonly [TensorProto, TensorProto]> {
    const known = this.#quantized.get(weights.name);
    if (known !== undefined) return known;
    const bytes = await this.#read(weights);
    const values = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
    const [first = 0, second = 0] = weights.dims.map(Number);
    const [depth, width] = isTransposed ? [second, first] : [first, second];
    const { quantized, scales } = quantizeColumns(values, depth, width, isTransposed);
    const integers: Initializer = {
      name: `${weights.name}/int8`,
      type: 'int8',
      dims: [depth, width],
      data: quantized,
    };
    const scale: Initializer = {
      name: `${weights.name}/scales`,
      type: 'float',
      dims: [width],
      data: scales,
    };
    const span = await this.#data.append(new Uint8Array(quantized.buffer));
    const made = [
      externalTensor(integers, DATA_FILE, span),
      inlineTensor(scale, new Uint8Array(scales.buffer)),
    ] as const;
    this.#quantized.set(weights.name, made);
    return made;
  }

  /** A tensor that stays as it is, in the new file. */
  async #copy(tensor: TensorProto): Promise<TensorProto> {
    const known = this.#copied.get(tensor.name);
    if (known !== undefined) return known;
    if (tensor.externalData.length > 0) {
      const span = await this.#data.append(await this.#read(tensor));
      for (const entry of tensor.externalData) {
        if (entry.key === 'location') entry.value = DATA_FILE;
        if (entry.key === 'offset') entry.value = String(span.offset);
      }
    }
    this.#copied.set(tensor.name, tensor);
    return tensor;
  }

  async #read({ externalData }: TensorProto): Promise<Buffer> {
    const place = new Map(externalData.map(({ key, value }) => [key, Number(value)]));
    const bytes = Buffer.alloc(place.get('length') ?? 0);
    await this.#source.read(bytes, 0, bytes.length, place.get('offset') ?? 0);
    return bytes;
  }
}

/** [depth, width], or that transposed, to integers [depth, width] with a scale per column. */
function quantizeColumns(
  values: Float32Array,
  depth: number,
  width: number,
  isTransposed: boolean,
): { quantized: Int8Array; scales: Float32Array } {
  const at = (row: number, column: number): number =>
    values[isTransposed ? column * depth + row : row * width + column] ?? 0;
  const scales = new Float32Array(width);
  for (let row = 0; row < depth; row++) {
    for (let column = 0; column < width; column++) {
      scales[column] = Math.max(scales[column] ?? 0, Math.abs(at(row, column)) / 127);
    }
  }
  const quantized = new Int8Array(depth * width);
  for (let row = 0; row < depth; row++) {
    for (let column = 0; column < width; column++) {
      quantized[row * width + column] = Math.round(at(row, column) / (scales[column] || 1));
    }
  }
  return { quantized, scales };
}
