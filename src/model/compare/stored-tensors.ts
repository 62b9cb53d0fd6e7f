import { open, readFile } from 'node:fs/promises';

import { type ElementType, elementTypeInfo } from '../../onnx/data-type.ts';
import { readExternalInitializers } from '../../onnx/external-initializers.ts';
import type { NodeProto, TensorProto } from '../../onnx/onnx_pb.ts';
import { parseModel } from '../../onnx/parsed-model.ts';
import type { BuiltModel } from '../manifest.ts';
import { readRange } from '../file-range.ts';
import { ModelError } from '../model-error.ts';

const ARRAYS = {
  float: Float32Array,
  float16: Uint16Array,
  int8: Int8Array,
  uint8: Uint8Array,
  int32: Int32Array,
} as const;

/** Arrays that tensors are read as. */
type Elements = { readonly [T in keyof typeof ARRAYS]: InstanceType<(typeof ARRAYS)[T]> };

interface Place {
  readonly path: string;
  readonly byteOffset: number;
}

/** The constants of a built graph, and which nodes take them. */
export class StoredTensors {
  readonly #graphPath: string;
  readonly #tensors: ReadonlyMap<string, TensorProto>;
  /** Places of tensors that are not in the graph itself. */
  readonly #places: ReadonlyMap<string, Place>;
  readonly #nodes: readonly NodeProto[];

  private constructor(
    graphPath: string,
    { initializer, node }: ReturnType<typeof parseModel>['graph'],
    places: ReadonlyMap<string, Place>,
  ) {
    this.#graphPath = graphPath;
    this.#tensors = new Map(initializer.map((tensor) => [tensor.name, tensor]));
    this.#places = places;
    this.#nodes = node;
  }

  static async open({
    graphPath,
    weightsFolder,
  }: Pick<BuiltModel, 'graphPath' | 'weightsFolder'>): Promise<StoredTensors> {
    const { graph } = parseModel(await readFile(graphPath));
    const external = readExternalInitializers(graphPath, weightsFolder);
    const places = new Map(external.map((place) => [place.name, place]));
    return new StoredTensors(graphPath, graph, places);
  }

  /** Null where there is none of that name. */
  shape(name: string): number[] | null {
    return this.#tensors.get(name)?.dims.map(Number) ?? null;
  }

  /** The elements of a tensor of this type. @throws {ModelError} if it is of another, or can't be read */
  async read<T extends keyof Elements>(name: string, type: T): Promise<Elements[T]> {
    const { rawData, dims, dataType } = this.#require(name);
    const info = elementTypeInfo(type);
    if (dataType !== info.dataType) {
      throw new ModelError(`${this.#graphPath}: tensor "${name}" is not of ${type}`);
    }
    const count = dims.reduce((product, dim) => product * Number(dim), 1);
    const place = this.#places.get(name);
    const bytes =
      place === undefined ? new Uint8Array(rawData) : new Uint8Array(count * info.bytes);
    if (place !== undefined) {
      const file = await open(place.path, 'r');
      try {
        await readRange(file, place.byteOffset, bytes, `${place.path}: tensor "${name}"`);
      } finally {
        await file.close();
      }
    }
    return new ARRAYS[type](bytes.buffer) as Elements[T];
  }

  isOf(name: string, type: ElementType): boolean {
    return this.#require(name).dataType === elementTypeInfo(type).dataType;
  }

  /** An integer attribute of the first node that takes a tensor; 0 without one. */
  attribute(tensor: string, name: string): number {
    const node = this.#nodes.find(({ input }) => input.includes(tensor));
    return Number(node?.attribute.find((each) => each.name === name)?.i ?? 0);
  }

  #require(name: string): TensorProto {
    const tensor = this.#tensors.get(name);
    if (tensor !== undefined) return tensor;
    throw new ModelError(`${this.#graphPath} has no tensor "${name}"`);
  }
}
