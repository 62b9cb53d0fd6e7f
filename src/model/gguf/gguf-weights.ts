import type { DecoderConfig } from '../huggingface/config.ts';
import { requireFinite } from '../huggingface/finite.ts';
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

/** An expert's number, in the names of all families. */
const EXPERT = /(?<=\.experts\.)\d+(?=\.)/;

/** The tensors of a GGUF model by the names and in the form that they have in safetensors. */
export class GgufWeights implements WeightSource {
  readonly #file: GgufFile;
  readonly #config: DecoderConfig;
  readonly #architecture: Architecture;
  readonly #places: ReadonlyMap<string, TensorPlace>;
  /** Bits of the precision whose builds keep the layers' integers. */
  readonly #keptIn: 4 | 8;

  constructor(file: GgufFile, config: DecoderConfig, architecture: Architecture) {
    this.#file = file;
    this.#config = config;
    this.#architecture = architecture;
    this.#places = tensorPlaces(config, architecture);
    const isOfFour = [...this.#places.values()].some(({ name }) => {
      const type = name.startsWith('blk.') && file.tensor(`${name}.weight`)?.type.name;
      return type && GGUF_LAYOUTS.get(type)?.bits === 4;
    });
    this.#keptIn = isOfFour ? 4 : 8;
  }

  async get(name: string, shape: readonly number[]): Promise<Float32Array> {
    const { place, stored, expert } = this.#require(name, shape);
    const values = await this.#file.read(stored, expert);
    const rowOf = this.#rowOrder(place);
    if (rowOf !== null) {
      const [rows = 1] = shape;
      const width = values.length / rows;
      const ordered = new Float32Array(values.length);
      for (let row = 0; row < rows; row++) {
        const from = rowOf(row) * width;
        ordered.set(values.subarray(from, from + width), row * width);
      }
      return ordered;
    }
    // Norms that multiply by 1 plus their weight have the sum in the file.
    const isFactor = place.kind === 'norm' && name.endsWith('.weight');
    const addsOne = isFactor && this.#config.family.normsAddOne;
    return addsOne ? values.map((value) => value - 1) : values;
  }

  pieces(name: string, shape: readonly number[]): AsyncIterable<Float32Array> {
    const { place, stored, expert } = this.#require(name, shape);
    return this.#rowOrder(place) === null
      ? this.#file.pieces(stored, expert)
      : inOnePiece(this, name, shape);
  }

  typeOf(name: string): string | null {
    return this.#find(name).tensor?.type.name ?? null;
  }

  layout(name: string, shape: readonly number[]): StoredLayout | null {
    const layout = GGUF_LAYOUTS.get(this.#find(name).tensor?.type.name ?? '');
    // The shape is checked where the values are read.
    return layout && shape.length === 2 ? { ...layout, keptIn: this.#keptIn } : null;
  }

  async integers(name: string, shape: readonly number[]): Promise<StoredIntegers> {
    const { place, stored, expert, tensor } = this.#require(name, shape);
    const integers = integersOf(tensor.type.name, await this.#file.bytes(stored, expert));
    const rowOf = this.#rowOrder(place);
    const [rows = 0] = shape;
    const ofBlocks = {
      what: this.#file.describe(stored),
      shape: [rows, integers.scales.length / rows],
    };
    requireFinite(integers.scales, { ...ofBlocks, kind: 'scale' });
    if (integers.offsets) requireFinite(integers.offsets, { ...ofBlocks, kind: 'offset' });
    return rowOf === null ? integers : withRows(integers, rows, rowOf);
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  /** By a row's place in safetensors, that in the file; null where they are the same. */
  #rowOrder({ kind }: TensorPlace): ((row: number) => number) | null {
    const { family, headDim, numHeads, numKvHeads } = this.#config;
    if (kind === 'heads' && this.#architecture.pairsRows) {
      return (row) => pairedRow(row, headDim);
    }
    if (kind !== 'fused heads' || family.fusedOrder !== 'by group') return null;
    return (row) => rowByKind(row, headDim, numHeads, numKvHeads);
  }

  #find(name: string) {
    const [number] = EXPERT.exec(name) ?? [];
    const expert = number === undefined ? null : Number(number);
    const key = name.replace(EXPERT, '*');
    const whole = this.#places.get(key);
    const dot = whole ? key.length : key.lastIndexOf('.');
    const place = whole ?? this.#places.get(key.slice(0, dot));
    // In a GGUF file all names end so.
    const stored = place ? place.name + (key.slice(dot) || '.weight') : name;
    return { place, stored, expert, tensor: place && this.#file.tensor(stored) };
  }

  #require(name: string, shape: readonly number[]) {
    const { place, stored, expert, tensor } = this.#find(name);
    const [path = ''] = this.#file.paths;
    if (!place || !tensor) throw new ModelError(`${path} has no tensor "${stored}"`);
    const expected = expert === null ? shape : [this.#config.experts?.count ?? 0, ...shape];
    if (!isSame(tensor.shape, expected)) {
      throw new ModelError(
        `${path}: tensor "${stored}" has shape [${tensor.shape.join(', ')}], ` +
          `expected [${expected.join(', ')}]`,
      );
    }
    return { place, stored, expert, tensor };
  }
}

/** To ggml a matrix of one row is a vector. */
function isSame(shape: readonly number[], [first, ...others]: readonly number[]): boolean {
  const own = shape.join();
  return own === [first, ...others].join() || (first === 1 && own === others.join());
}

/** By its place in a head's halves, the row in pairs. */
function pairedRow(row: number, headDim: number): number {
  const within = row % headDim;
  const half = headDim / 2;
  return row - within + (within % half) * 2 + (within < half ? 0 : 1);
}

/** By its place among rows of a key's queries, the key and its value, then the next key's: all queries first. */
function rowByKind(row: number, headDim: number, numHeads: number, numKvHeads: number): number {
  const within = row % headDim;
  const perKey = numHeads / numKvHeads;
  const place = Math.floor(row / headDim) % (perKey + 2);
  const key = Math.floor(row / ((perKey + 2) * headDim));
  const ofKind = numHeads + (place - perKey) * numKvHeads + key;
  return (place < perKey ? key * perKey + place : ofKind) * headDim + within;
}
