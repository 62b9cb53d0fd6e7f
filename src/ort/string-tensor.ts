import koffi from 'koffi';
import { ort, type Pointer } from './api.ts';
import { STRING_VALUE } from './element-type.ts';
import { Handle } from './handle.ts';
import { defaultAllocator } from './strings.ts';
import { dimensions } from './tensor-shape.ts';

/** A tensor whose elements are strings of any bytes, in ONNX Runtime's own memory. */
export class StringTensor extends Handle {
  readonly shape: readonly number[];

  /** Takes over a tensor that ONNX Runtime made. */
  constructor(pointer: Pointer, shape: readonly number[]) {
    super(pointer);
    this.shape = shape;
  }

  /** @param elements as many as the shape says */
  static of(shape: readonly number[], elements: readonly Uint8Array[]): StringTensor {
    const { api } = ort();
    const allocator = defaultAllocator();
    const sizes = dimensions(shape);
    const pointer = api.CreateTensorAsOrtValue(allocator, sizes, shape.length, STRING_VALUE);
    const tensor = new StringTensor(pointer, shape);
    try {
      for (const [index, bytes] of elements.entries()) {
        const { length } = bytes;
        const buffer = api.GetResizedStringTensorElementBuffer(pointer, index, length);
        if (length > 0) new Uint8Array(koffi.view(buffer, length)).set(bytes);
      }
      return tensor;
    } catch (error) {
      tensor.release();
      throw error;
    }
  }

  /** Size of all elements together. */
  get byteLength(): number {
    return ort().api.GetStringTensorDataLength(this.pointer);
  }

  /** In row-major order; copies. */
  elements(): Uint8Array[] {
    const { api } = ort();
    const count = this.shape.reduce((product, size) => product * size, 1);
    if (count === 0) return [];
    const length = api.GetStringTensorDataLength(this.pointer);
    const bytes = new Uint8Array(Math.max(1, length));
    const starts = new BigUint64Array(count);
    api.GetStringTensorContent(this.pointer, bytes, length, starts, count);
    return Array.from(starts, (start, index) =>
      bytes.subarray(Number(start), index + 1 < count ? Number(starts[index + 1]) : length),
    );
  }

  protected override free(pointer: Pointer): void {
    ort().api.ReleaseValue(pointer);
  }
}
