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
import { fusedName, fusedTensor, loneName } from './fused-tensors.ts';
import { GgufFile, type TensorPart } from './gguf-file.ts';
import type { GgufTensor } from './gguf-header.ts';
import { GGUF_LAYOUTS, integersOf } from './gguf-integers.ts';
import { BlockSpace } from './integer-blocks.ts';
import { expandingMatrix, latentParts } from './latent-tensors.ts';
import { statedWeight } from './stated-weights.ts';
import { type StoredOrder, storedOrder } from './stored-order.ts';
import { tensorPlaces } from './tensor-names.ts';
import type { TensorPlace } from './tensor-place.ts';

/** An expert's number, or a stream's, in the names of all families. */
const EXPERT = /(?<=\.(?:experts|altup_(?:unembed_)?projections)\.)\d+(?=\.)/;

interface Rows {
  readonly rows: number;
  /** Row of the tensor that the first of them is. */
  readonly first: number;
  readonly space: BlockSpace;
}

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
      const stored = `${name}.weight`;
      const type =
        name.startsWith('blk.') && file.tensor(fusedName(file, stored) ?? stored)?.type.name;
      return type && GGUF_LAYOUTS.get(type)?.bits === 4;
    });
    this.#keptIn = isOfFour ? 4 : 8;
  }

  async get(name: string, shape: readonly number[]): Promise<Float32Array> {
    const stated = statedWeight(this.#file, this.#config.family, name);
    if (stated !== null) return stated;
    const parted = this.#parted(name);
    if (parted !== null) return expandingMatrix(this.#file, parted, this.#config);
    const { place, stored, part } = this.#require(name, shape);
    const values = await this.#file.read(stored, part);
    // A file has what logarithms of steps are multiplied by.
    const told = place.kind === 'decay' ? values.map((value) => Math.log(-value)) : values;
    const order = this.#orderOf(place);
    if (order !== null) return inOrder(told, order, shape);
    // Norms that multiply by 1 plus their weight have the sum in the file.
    const isFactor = place.kind === 'norm' && name.endsWith('.weight');
    const addsOne = isFactor && this.#config.family.normsAddOne;
    return addsOne ? told.map((value) => value - 1) : told;
  }

  pieces(name: string, shape: readonly number[]): AsyncIterable<Float32Array> {
    if (this.#parted(name) !== null) return inOnePiece(this, name, shape);
    const { place, stored, part } = this.#require(name, shape);
    return this.#orderOf(place) === null && place.kind !== 'decay'
      ? this.#file.pieces(stored, part)
      : inOnePiece(this, name, shape);
  }

  typeOf(name: string): string | null {
    const parted = this.#parted(name);
    const tensor =
      parted === null ? this.#find(name).tensor : this.#file.tensor(latentParts(parted).values);
    return tensor?.type.name ?? null;
  }

  layout(name: string, shape: readonly number[]): StoredLayout | null {
    const { place, tensor } = this.#find(name);
    const layout = GGUF_LAYOUTS.get(tensor?.type.name ?? '');
    const [, columns = 0] = shape;
    const { perRow } = (place && this.#orderOf(place)) ?? { perRow: 1 };
    // Blocks go from one place to another as a whole.
    const isWhole = perRow === 1 || columns % (perRow * (layout?.blockSize ?? 1)) === 0;
    // The shape is checked where the values are read.
    return layout && shape.length === 2 && isWhole ? { ...layout, keptIn: this.#keptIn } : null;
  }

  async integers(name: string, shape: readonly number[]): Promise<StoredIntegers> {
    const { place, stored, part, tensor } = this.#require(name, shape);
    const [rows = 0] = shape;
    const bytes = await this.#file.bytes(stored, part);
    const integers = this.#integersIn(bytes, stored, tensor, {
      rows,
      first: 0,
      space: new BlockSpace(),
    });
    const order = this.#orderOf(place);
    return order === null ? integers : withRows(integers, rows * order.perRow, order.placeOf);
  }

  async *integerPieces(
    name: string,
    shape: readonly number[],
  ): AsyncGenerator<StoredIntegers, void> {
    const { place, stored, part, tensor } = this.#require(name, shape);
    if (this.#orderOf(place) !== null) {
      yield await this.integers(name, shape);
      return;
    }
    const [count = 0] = shape;
    const space = new BlockSpace();
    let first = 0;
    for await (const { bytes, rows } of this.#file.rowPieces(stored, count, part)) {
      yield this.#integersIn(bytes, stored, tensor, { rows, first, space });
      first += rows;
    }
  }

  /** @throws {ModelError} if a scale or an offset is not finite */
  #integersIn(
    bytes: Uint8Array<ArrayBuffer>,
    stored: string,
    { type }: GgufTensor,
    { rows, first, space }: Rows,
  ): StoredIntegers {
    const integers = integersOf(type.name, bytes, space);
    const perRow = integers.scales.length / rows;
    const ofBlocks = {
      what: this.#file.describe(stored),
      shape: [rows, perRow],
      first: first * perRow,
    };
    requireFinite(integers.scales, { ...ofBlocks, kind: 'scale' });
    if (integers.offsets) requireFinite(integers.offsets, { ...ofBlocks, kind: 'offset' });
    return integers;
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  /** Name of a tensor that a file has in two parts, as a whole; null of all others. */
  #parted(name: string): string | null {
    const { place, stored, tensor } = this.#find(name);
    return place?.kind === 'latent' && tensor === undefined ? stored : null;
  }

  #orderOf(place: TensorPlace): StoredOrder | null {
    return storedOrder(place, this.#config, this.#architecture);
  }

  #find(name: string) {
    const [number] = EXPERT.exec(name) ?? [];
    const expert = number === undefined ? null : Number(number);
    const key = name.replace(EXPERT, '*');
    const whole = this.#places.get(key);
    const dot = whole ? key.length : key.lastIndexOf('.');
    const place = whole ?? this.#places.get(key.slice(0, dot));
    // In a GGUF file all names end so.
    const stored = place ? place.name + (key.slice(dot) || (place.suffix ?? '.weight')) : name;
    const lone = loneName(this.#file, stored, expert);
    if (lone !== null) {
      return { place, stored: lone, expert: null, fused: null, tensor: this.#file.tensor(lone) };
    }
    const fused = place ? fusedName(this.#file, stored) : null;
    return { place, stored, expert, fused, tensor: place && this.#file.tensor(fused ?? stored) };
  }

  #require(name: string, shape: readonly number[]) {
    const { place, stored, expert, fused } = this.#find(name);
    const [path = ''] = this.#file.paths;
    if (!place) throw new ModelError(`${path} has no tensor "${stored}"`);
    if (fused !== null) {
      const whole = fusedTensor(stored, shape, expert, this.#config);
      const tensor = this.#file.requireShape(fused, whole.shape);
      return { place, stored: fused, part: whole.part, tensor };
    }
    const held = this.#file.tensor(stored)?.shape ?? [];
    const { count = this.#config.experts?.count ?? 0 } = place;
    const expected = expert === null ? asHeld(shape, held) : [count, ...shape];
    const tensor = this.#file.requireShape(stored, expected);
    return { place, stored, part: expert === null ? null : partOf(shape, expert), tensor };
  }
}

/** One of several equal ones. */
function partOf(shape: readonly number[], index: number): TensorPart {
  return { first: index * shape.reduce((product, size) => product * size, 1), shape };
}

/**
 * The shape that a file has, where it differs in dimensions of 1 alone: of convolutions, norms and heads'
 * factors; or where a vector is in groups.
 */
function asHeld(shape: readonly number[], held: readonly number[]): readonly number[] {
  const [size, another] = shape;
  const isSameSize = another === undefined && held.reduce((all, dim) => all * dim, 1) === size;
  if (isSameSize) return held;
  const [wanted, found] = [shape, held].map((each) => each.filter((dim) => dim !== 1).join());
  return wanted === found ? held : shape;
}

/** Values of safetensors' shape, by their order in a file. */
function inOrder(
  values: Float32Array,
  { perRow, placeOf }: StoredOrder,
  [rows = 1]: readonly number[],
): Float32Array {
  const parts = rows * perRow;
  const width = values.length / parts;
  const ordered = new Float32Array(values.length);
  for (let part = 0; part < parts; part++) {
    const from = placeOf(part) * width;
    ordered.set(values.subarray(from, from + width), part * width);
  }
  return ordered;
}
