import type { DecoderConfig } from '../huggingface/config.ts';
import {
  inOnePiece,
  type StoredIntegers,
  type StoredLayout,
  type WeightSource,
} from '../huggingface/weights.ts';
import { ModelError } from '../model-error.ts';
import { withRows } from '../quantize/stored-blocks.ts';
import type { Architecture } from './architectures.ts';
import { GgufFile } from './gguf-file.ts';
import { GGUF_LAYOUTS, integersOf } from './gguf-integers.ts';
import { type TensorPlace, tensorPlaces } from './tensor-names.ts';

/** The tensors of a GGUF model by the names and in the form that they have in safetensors. */
export class GgufWeights implements WeightSource {
  readonly #file: GgufFile;
  readonly #config: DecoderConfig;
  readonly #pairsRows: boolean;
  readonly #places: ReadonlyMap<string, TensorPlace>;

  constructor(file: GgufFile, config: DecoderConfig, { pairsRows }: Architecture) {
    this.#file = file;
    this.#config = config;
    this.#pairsRows = pairsRows;
    this.#places = tensorPlaces(config);
  }

  async get(name: string, shape: readonly number[]): Promise<Float32Array> {
    const { place, stored } = this.#require(name, shape);
    const values = await this.#file.read(stored);
    const { family, headDim } = this.#config;
    if (place.kind === 'heads' && this.#pairsRows) {
      const [rows = 1] = shape;
      const width = values.length / rows;
      const ordered = new Float32Array(values.length);
      for (let row = 0; row < rows; row++) {
        const from = pairedRow(row, headDim) * width;
        ordered.set(values.subarray(from, from + width), row * width);
      }
      return ordered;
    }
    // Norms that multiply by 1 plus their weight have the sum in the file.
    return place.kind === 'norm' && family.normsAddOne ? values.map((value) => value - 1) : values;
  }

  pieces(name: string, shape: readonly number[]): AsyncIterable<Float32Array> {
    const { place, stored } = this.#require(name, shape);
    return place.kind === 'heads' && this.#pairsRows
      ? inOnePiece(this, name, shape)
      : this.#file.pieces(stored);
  }

  typeOf(name: string): string | null {
    return this.#find(name).tensor?.type.name ?? null;
  }

  layout(name: string, shape: readonly number[]): StoredLayout | null {
    const type = this.#find(name).tensor?.type.name;
    // The shape is checked where the values are read.
    return type === undefined || shape.length !== 2 ? null : (GGUF_LAYOUTS[type] ?? null);
  }

  async integers(name: string, shape: readonly number[]): Promise<StoredIntegers> {
    const { place, stored, tensor } = this.#require(name, shape);
    const integers = integersOf(tensor.type.name, await this.#file.bytes(stored));
    if (place.kind !== 'heads' || !this.#pairsRows) return integers;
    const [rows = 0] = shape;
    return withRows(integers, rows, (row) => pairedRow(row, this.#config.headDim));
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  #find(name: string) {
    const dot = name.lastIndexOf('.');
    const place = this.#places.get(name.slice(0, dot));
    const stored = place ? place.name + name.slice(dot) : name;
    return { place, stored, tensor: place && this.#file.tensor(stored) };
  }

  #require(name: string, shape: readonly number[]) {
    const { place, stored, tensor } = this.#find(name);
    const [path = ''] = this.#file.paths;
    if (!place || !tensor) throw new ModelError(`${path} has no tensor "${stored}"`);
    if (tensor.shape.join() !== shape.join()) {
      throw new ModelError(
        `${path}: tensor "${stored}" has shape [${tensor.shape.join(', ')}], ` +
          `expected [${shape.join(', ')}]`,
      );
    }
    return { place, stored, tensor };
  }
}

/** By its place in a head's halves, the row in pairs. */
function pairedRow(row: number, headDim: number): number {
  const within = row % headDim;
  const half = headDim / 2;
  return row - within + (within % half) * 2 + (within < half ? 0 : 1);
}
