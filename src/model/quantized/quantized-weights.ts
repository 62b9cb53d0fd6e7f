import { requireFinite } from '../huggingface/finite.ts';
import type { SafetensorsWeights } from '../huggingface/safetensors.ts';
import {
  inOnePiece,
  type StoredIntegers,
  type StoredLayout,
  type WeightSource,
} from '../huggingface/weights.ts';
import { ModelError } from '../model-error.ts';
import { dequantize } from '../quantize/stored-blocks.ts';
import { awqFormat } from './awq.ts';
import { eightBitFormat, fourBitFormat } from './bitsandbytes.ts';
import { columnOrder } from './column-order.ts';
import { float8Format } from './float8.ts';
import { gptqFormat } from './gptq.ts';
import type { IntegerFormat, MatrixFormat, MatrixShape } from './matrix-format.ts';
import { mlxFormats } from './mlx.ts';
import { mxfp4Format } from './mxfp4.ts';
import { COMPRESSED, MODELOPT, nvfp4Format } from './nvfp4.ts';
import { intQuantizedFormat, packQuantizedFormat } from './packed-quantized.ts';
import type { Quantization } from '../huggingface/quantization.ts';
import { TensorReader } from './tensor-reader.ts';
import { reasonOf } from '../../files/system-error.ts';

/** Names of tensors with each column's group number. */
const GROUP_NAMES = ['g_idx', 'weight_g_idx'] as const;

/** The weights of a checkpoint some of whose matrices are quantized. */
export class QuantizedWeights implements WeightSource {
  readonly #plain: SafetensorsWeights;
  readonly #tensors: TensorReader;
  readonly #formats: readonly MatrixFormat[];
  /** As config.json calls it. */
  readonly #method: string;
  /** By name of a matrix without `.weight`, the number of each column's group. */
  readonly #groups: ReadonlyMap<string, Int32Array>;
  readonly #orders = new Map<string, Int32Array | null>();

  private constructor(
    plain: SafetensorsWeights,
    quantization: Quantization,
    groups: ReadonlyMap<string, Int32Array>,
  ) {
    this.#plain = plain;
    this.#tensors = new TensorReader(plain);
    this.#formats = formatsOf(quantization);
    this.#method = quantization.method;
    this.#groups = groups;
  }

  /**
   * @param plain what it is stored in; closed with the result, or now if it cannot be read
   * @throws {ModelError} if it is damaged
   */
  static async open(
    plain: SafetensorsWeights,
    quantization: Quantization,
  ): Promise<QuantizedWeights> {
    try {
      return new QuantizedWeights(plain, quantization, await readGroups(new TensorReader(plain)));
    } catch (error) {
      await plain.close();
      throw error;
    }
  }

  async get(name: string, shape: readonly number[]): Promise<Float32Array> {
    const found = this.#find(name, shape);
    if (found === null) return this.#plain.get(name, shape);
    const { base, format, matrix } = found;
    if (format.kind === 'values') {
      const values = await format.values(this.#tensors, base, matrix);
      requireFinite(values, { what: this.#describe(base), shape });
      return values;
    }
    const layout = this.#layout(base, format, matrix);
    if (layout === null) {
      throw new ModelError(`tensor "${base}" is not a quantized matrix [${matrix.join(', ')}]`);
    }
    const integers = await format.integers(this.#tensors, base, matrix, layout);
    return dequantize(integers, layout, matrix[1]);
  }

  pieces(name: string, shape: readonly number[]): AsyncIterable<Float32Array> {
    return this.#find(name, shape) === null
      ? this.#plain.pieces(name, shape)
      : inOnePiece(this, name, shape);
  }

  typeOf(name: string): string | null {
    // Finds a matrix of any shape.
    return this.#find(name, [0, 0]) === null ? this.#plain.typeOf(name) : this.#method;
  }

  layout(name: string, shape: readonly number[]): StoredLayout | null {
    const found = this.#find(name, shape);
    if (found?.format.kind !== 'integers') return null;
    return this.#layout(found.base, found.format, found.matrix);
  }

  async integers(name: string, shape: readonly number[]): Promise<StoredIntegers> {
    const found = this.#find(name, shape);
    const layout = this.layout(name, shape);
    if (found?.format.kind !== 'integers' || layout === null) {
      throw new ModelError(`tensor "${name}" is not stored in integers`);
    }
    return found.format.integers(this.#tensors, found.base, found.matrix, layout);
  }

  async close(): Promise<void> {
    await this.#plain.close();
  }

  #describe(base: string): string {
    const names = [`${base}.weight`, `${base}.weight_packed`];
    return this.#plain.describe(names.find((name) => this.#plain.has(name)) ?? base);
  }

  #find(name: string, shape: readonly number[]) {
    const [rows, columns] = shape;
    if (!name.endsWith('.weight') || rows === undefined || columns === undefined) return null;
    const base = name.slice(0, -'.weight'.length);
    const format = this.#formats.find((each) => each.holds(this.#tensors, base));
    return format === undefined ? null : { base, format, matrix: [rows, columns] as const };
  }

  #layout(base: string, format: IntegerFormat, matrix: MatrixShape): StoredLayout | null {
    const inOrder = format.layout(this.#tensors, base, matrix, null);
    const groups = this.#groups.get(base);
    if (inOrder === null || groups === undefined) return inOrder;
    return { ...inOrder, order: this.#order(base, groups, inOrder.blockSize) };
  }

  #order(base: string, groups: Int32Array, blockSize: number): Int32Array | null {
    const known = this.#orders.get(base);
    if (known !== undefined) return known;
    try {
      const order = columnOrder(groups, blockSize);
      this.#orders.set(base, order);
      return order;
    } catch (error) {
      const reason = reasonOf(error);
      throw new ModelError(`tensor "${base}": ${reason}`, { cause: error });
    }
  }
}

function formatsOf(quantization: Quantization): readonly MatrixFormat[] {
  switch (quantization.method) {
    case 'gptq':
      return [gptqFormat(quantization)];
    case 'awq':
      return [awqFormat(quantization.groupSize)];
    case 'fp8':
      return [float8Format(quantization.block)];
    case 'nvfp4':
      return [nvfp4Format(MODELOPT), float8Format(null)];
    case 'mlx':
      return mlxFormats(quantization.keptIn);
    case 'bitsandbytes':
      return [fourBitFormat(), eightBitFormat()];
    case 'mxfp4':
      // Experts alone, which are read elsewhere.
      return [];
    case 'compressed-tensors':
    default:
      return [
        nvfp4Format(COMPRESSED),
        mxfp4Format(),
        packQuantizedFormat(quantization.groupSizes),
        intQuantizedFormat(quantization.groupSizes),
        float8Format(null),
      ];
  }
}

async function readGroups(tensors: TensorReader): Promise<Map<string, Int32Array>> {
  const groups = new Map<string, Int32Array>();
  for (const name of tensors.names()) {
    const suffix = GROUP_NAMES.find((each) => name.endsWith(`.${each}`));
    if (suffix === undefined) continue;
    const numbers = await tensors.words(name);
    // Where columns are in order some have none, or -1 everywhere.
    if (numbers.every((number) => number === -1)) continue;
    groups.set(name.slice(0, -suffix.length - 1), numbers);
  }
  return groups;
}
