import { ort } from './api.ts';
import { elementTypeOf } from './element-type.ts';
import { Handle } from './handle.ts';
import { NativeMemory } from './native-memory.ts';
import { type HotRange, SettlingWeights } from './settling-weights.ts';
import { Tensor } from './tensor.ts';

/** A weight in a file. */
export interface FileWeight {
  /** Name of the initializer that it stands for. */
  readonly name: string;
  /** ONNX's number for the element type. */
  readonly dataType: number;
  readonly dims: readonly number[];
  readonly path: string;
  readonly byteOffset: number;
  /** Types of the nodes that read it. */
  readonly usedBy: ReadonlySet<string>;
}

/** Nodes of our own kernels that read all of a weight in each step, from where it is. */
const PRODUCTS = ['Linear8', 'LinearBlocks8', 'Linear4'];

/** Weights as a session takes them. */
export type SessionWeights = Pick<SharedWeights, 'pointer' | 'tensors'>;

/**
 * Weights that several sessions share, so that they are in memory once: mapped from their files,
 * and in the layouts that kernels make when a session is created. To be released after the
 * sessions.
 */
export class SharedWeights extends Handle {
  readonly tensors: ReadonlyMap<string, Tensor>;
  readonly #files = new Map<string, NativeMemory>();
  readonly #settling: SettlingWeights;

  /**
   * Each session keeps its own weights of element types that tensors can't have, and its own
   * vectors: not every kernel that rearranges them can share the result.
   * @param stayMapped as pages of their files, which other processes share; otherwise they move into huge pages
   * @throws Error when a file can't be read
   */
  constructor(weights: readonly FileWeight[], stayMapped = false) {
    super(ort().api.CreatePrepackedWeightsContainer());
    const tensors = new Map<string, Tensor>();
    const hot: HotRange[] = [];
    for (const weight of weights) {
      const type = elementTypeOf(weight.dataType);
      if (type === undefined || weight.dims.length < 2) continue;
      const file = this.#file(weight.path);
      const { byteOffset: start, dims, usedBy } = weight;
      const tensor = Tensor.overNative(type, dims, file, start);
      tensors.set(weight.name, tensor);
      if (stayMapped || !PRODUCTS.some((product) => usedBy.has(product))) continue;
      hot.push({ file, start, end: start + tensor.byteLength });
    }
    this.tensors = tensors;
    this.#settling = new SettlingWeights(hot);
  }

  #file(path: string): NativeMemory {
    const known = this.#files.get(path);
    if (known) return known;
    const file = NativeMemory.ofFile(path);
    this.#files.set(path, file);
    return file;
  }

  /** Those of a graph that has some of them. */
  only(names: ReadonlySet<string>): SessionWeights {
    const tensors = new Map([...this.tensors].filter(([name]) => names.has(name)));
    return { pointer: this.pointer, tensors };
  }

  /**
   * Frees pages that were read while sessions were made: few are needed in the files' own layout. To be called before
   * the first run.
   */
  trim(): void {
    for (const file of this.#files.values()) file.discard(0, file.byteLength);
  }

  /**
   * Moves some of what products read into huge pages, as SettlingWeights says, between two runs.
   * @param ms milliseconds that it may take: a tenth of the run's before, or more while there is nothing to run
   * @returns whether some are left
   */
  settle(ms: number): boolean {
    return this.#settling.move(ms) > 0;
  }

  protected override free(pointer: bigint): void {
    for (const tensor of this.tensors.values()) tensor.release();
    ort().api.ReleasePrepackedWeightsContainer(pointer);
    for (const file of this.#files.values()) file.release();
  }
}
