import type { SafetensorsWeights } from '../huggingface/safetensors.ts';
import { ModelError } from '../model-error.ts';

/** Tensors of a checkpoint as they are stored. */
export class TensorReader {
  readonly #weights: SafetensorsWeights;

  constructor(weights: SafetensorsWeights) {
    this.#weights = weights;
  }

  /** Null where there is no such tensor. */
  shape(name: string): readonly number[] | null {
    return this.#weights.entry(name)?.shape ?? null;
  }

  dtype(name: string): string | null {
    return this.#weights.entry(name)?.dtype ?? null;
  }

  names(): Iterable<string> {
    return this.#weights.names();
  }

  /** A tensor of floats as float32, whatever its shape. @throws {ModelError} */
  async floats(name: string): Promise<Float32Array> {
    return this.#weights.get(name, this.#require(name));
  }

  /** Name of a tensor in errors, with its file. */
  describe(name: string): string {
    return this.#weights.describe(name);
  }

  /** A tensor's bytes. @throws {ModelError} if it has another type or shape */
  async bytes(
    name: string,
    dtypes: readonly string[],
    shape?: readonly number[],
  ): Promise<Uint8Array<ArrayBuffer>> {
    const found = this.#require(name);
    const dtype = this.dtype(name) ?? '';
    if (!dtypes.includes(dtype)) {
      throw new ModelError(`tensor "${name}" has dtype ${dtype}, expected ${dtypes.join(' or ')}`);
    }
    if (shape !== undefined && shape.join() !== found.join()) {
      throw new ModelError(
        `tensor "${name}" has shape [${found.join(', ')}], expected [${shape.join(', ')}]`,
      );
    }
    return this.#weights.bytes(name);
  }

  /** Words of packed integers. @throws {ModelError} if it has another type or shape */
  async words(name: string, shape?: readonly number[]): Promise<Int32Array> {
    return new Int32Array((await this.bytes(name, ['I32', 'U32'], shape)).buffer);
  }

  #require(name: string): readonly number[] {
    const shape = this.shape(name);
    if (shape === null) throw new ModelError(`tensor "${name}" is missing`);
    return shape;
  }
}
