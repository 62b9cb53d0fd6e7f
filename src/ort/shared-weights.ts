import { ort } from './api.ts';
import { type ElementType, elementTypeOf } from './element-type.ts';
import { Handle } from './handle.ts';
import { NativeMemory } from './native-memory.ts';
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
}

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

  /**
   * Each session keeps its own weights of element types that tensors can't have, and its own
   * vectors: not every kernel that rearranges them can share the result.
   * @throws Error when a file can't be read
   */
  constructor(weights: readonly FileWeight[]) {
    super(ort().api.CreatePrepackedWeightsContainer());
    const tensors = new Map<string, Tensor>();
    for (const weight of weights) {
      const type = elementTypeOf(weight.dataType);
      if (type !== undefined && weight.dims.length > 1)
        tensors.set(weight.name, this.#tensor(type, weight));
    }
    this.tensors = tensors;
  }

  #tensor(type: ElementType, { dims, path, byteOffset }: FileWeight): Tensor {
    let file = this.#files.get(path);
    if (!file) {
      file = NativeMemory.ofFile(path);
      this.#files.set(path, file);
    }
    return Tensor.overNative(type, dims, file, byteOffset);
  }

  /** Those of a graph that has some of them. */
  only(names: ReadonlySet<string>): SessionWeights {
    const tensors = new Map([...this.tensors].filter(([name]) => names.has(name)));
    return { pointer: this.pointer, tensors };
  }

  /**
   * Frees pages that were read while sessions were made: few are needed in the files' own layout.
   */
  trim(): void {
    for (const file of this.#files.values()) file.discard(0, file.byteLength);
  }

  protected override free(pointer: bigint): void {
    for (const tensor of this.tensors.values()) tensor.release();
    ort().api.ReleasePrepackedWeightsContainer(pointer);
    for (const file of this.#files.values()) file.release();
  }
}
