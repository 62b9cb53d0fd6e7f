import koffi from 'koffi';
import type { Allocator } from './allocator.ts';
import { ort, type Pointer } from './api.ts';
import {
  type ElementType,
  elementTypeOf,
  elementTypeValue,
  tensorByteLength,
  type TypedArrayOf,
  typedArrayOver,
} from './element-type.ts';
import { describeTensor, dimensions } from './tensor-shape.ts';
import { Handle } from './handle.ts';
import { MemoryInfo } from './memory-info.ts';
import { addressOf, type NativeMemory } from './native-memory.ts';

/**
 * A dense tensor (OrtValue). It keeps a reference to its memory, so that what ONNX Runtime reads
 * can't be collected before `release()`.
 */
export class Tensor<T extends ElementType = ElementType> extends Handle {
  readonly type: T;
  readonly shape: readonly number[];
  readonly byteLength: number;
  readonly #memoryInfo: MemoryInfo;
  /** The tensor's memory, referenced for as long as ONNX Runtime may use it. */
  protected memory: unknown;

  private constructor(
    pointer: Pointer,
    type: T,
    shape: readonly number[],
    memory: unknown,
    memoryInfo: MemoryInfo,
  ) {
    super(pointer);
    this.type = type;
    this.shape = shape;
    this.byteLength = tensorByteLength(type, shape);
    this.memory = memory;
    this.#memoryInfo = memoryInfo;
  }

  /**
   * Lays a tensor over a typed array, without a copy: what is written to the array is what
   * ONNX Runtime reads, and the other way round.
   * @throws RangeError when the array is smaller than the shape
   */
  static over<T extends ElementType>(
    type: T,
    shape: readonly number[],
    data: TypedArrayOf<T>,
  ): Tensor<T> {
    const byteLength = tensorByteLength(type, shape);
    if (data.byteLength < byteLength) {
      throw new RangeError(
        `a ${type} tensor of shape [${shape.join(', ')}] takes ${byteLength} bytes, ` +
          `the array has ${data.byteLength}`,
      );
    }
    return Tensor.#create(type, shape, addressOf(data), data, MemoryInfo.cpu());
  }

  /**
   * Lays a tensor over native memory, without a copy.
   * @param byteOffset of the first element within `memory`
   * @throws RangeError when the tensor would reach past the memory's end
   */
  static overNative<T extends ElementType>(
    type: T,
    shape: readonly number[],
    memory: NativeMemory,
    byteOffset = 0,
  ): Tensor<T> {
    const end = byteOffset + tensorByteLength(type, shape);
    if (byteOffset < 0 || end > memory.byteLength) {
      throw new RangeError(
        `bytes ${byteOffset} to ${end} lie outside of ${memory.byteLength} bytes`,
      );
    }
    const address = memory.address + BigInt(byteOffset);
    return Tensor.#create(type, shape, address, memory, MemoryInfo.cpu());
  }

  /** Allocates an uninitialised tensor from a device's (or the CPU's) allocator. */
  static allocate<T extends ElementType>(
    type: T,
    shape: readonly number[],
    allocator: Allocator,
  ): Tensor<T> {
    const pointer = ort().api.CreateTensorAsOrtValue(
      allocator.pointer,
      dimensions(shape),
      shape.length,
      elementTypeValue(type),
    );
    return new Tensor(pointer, type, shape, allocator, allocator.memoryInfo);
  }

  /**
   * Lays a tensor over the first bytes of another one, whatever memory that is in. Not at an offset:
   * on some devices an address is the handle of a buffer.
   * @throws RangeError when the other one is smaller than the shape
   */
  static overStartOf<T extends ElementType>(
    type: T,
    shape: readonly number[],
    whole: Tensor,
  ): Tensor<T> {
    const byteLength = tensorByteLength(type, shape);
    if (byteLength > whole.byteLength) {
      throw new RangeError(`${byteLength} bytes lie outside of ${whole.byteLength} bytes`);
    }
    const address = ort().api.GetTensorMutableData(whole.pointer);
    return Tensor.#create(type, shape, address, whole, whole.#memoryInfo);
  }

  /**
   * Takes over a tensor that ONNX Runtime made in the CPU's memory.
   * @throws Error when its elements are of a type that we don't handle; it is released then
   */
  static adopt(pointer: Pointer): Tensor {
    try {
      const { elementType, shape } = describeTensor(pointer);
      const type = elementTypeOf(elementType);
      if (type === undefined) throw new Error(`element type ${elementType} is not handled`);
      return new Tensor(pointer, type, shape, null, MemoryInfo.cpu());
    } catch (error) {
      ort().api.ReleaseValue(pointer);
      throw error;
    }
  }

  static #create<T extends ElementType>(
    type: T,
    shape: readonly number[],
    address: Pointer,
    memory: unknown,
    memoryInfo: MemoryInfo,
  ): Tensor<T> {
    const pointer = ort().api.CreateTensorWithDataAsOrtValue(
      memoryInfo.pointer,
      address,
      tensorByteLength(type, shape),
      dimensions(shape),
      shape.length,
      elementTypeValue(type),
    );
    return new Tensor(pointer, type, shape, memory, memoryInfo);
  }

  /**
   * The tensor's elements, without a copy; valid until `release()`.
   * @throws Error for a tensor in device memory
   */
  get data(): TypedArrayOf<T> {
    if (!this.#memoryInfo.isCpu)
      throw new Error('the elements of a tensor in device memory cannot be viewed');
    const address = ort().api.GetTensorMutableData(this.pointer);
    return typedArrayOver(this.type, koffi.view(address, this.byteLength));
  }

  protected override free(pointer: Pointer): void {
    ort().api.ReleaseValue(pointer);
    this.memory = undefined;
  }
}
