import { open } from 'node:fs/promises';
import { moveDurably } from '../../files/durable.ts';
import { float32ToBfloat16, float32ToFloat16 } from '../../model/huggingface/float-conversion.ts';

/** Types that float weights are stored in. */
export const FLOAT_DTYPES = ['F32', 'F16', 'BF16'] as const;
export type FloatDtype = (typeof FLOAT_DTYPES)[number];

const ELEMENT_BYTES = { F32: 4, F16: 2, BF16: 2, I32: 4, I64: 8 } as const;

/** A tensor to store. */
export interface StoredTensor {
  readonly dtype: keyof typeof ELEMENT_BYTES;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

/** A tensor to store whose bytes are made when they are written. */
export interface DeferredTensor extends Omit<StoredTensor, 'bytes'> {
  readonly name: string;
  readonly load: () => Promise<Uint8Array>;
}

/** Weights in a type that the checkpoint has. */
export function storedFloats(
  dtype: FloatDtype,
  shape: readonly number[],
  values: Float32Array,
): StoredTensor {
  return { dtype, shape, bytes: bytesOf(encoded(dtype, values)) };
}

export function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

function encoded(dtype: FloatDtype, values: Float32Array): ArrayBufferView {
  if (dtype === 'F32') return values;
  return dtype === 'F16' ? float32ToFloat16(values) : float32ToBfloat16(values);
}

/**
 * Writes a safetensors file, one tensor at a time. After a crash there is the whole file or none.
 * @throws {RangeError} if a tensor's bytes are not as many as its shape says
 */
export async function writeSafetensors(
  path: string,
  tensors: readonly DeferredTensor[],
  onWritten: (tensor: string) => void = () => {},
): Promise<void> {
  const header: Record<string, unknown> = { __metadata__: { format: 'pt' } };
  let end = 0;
  const lengths = tensors.map(({ name, dtype, shape }) => {
    const length = shape.reduce((product, dim) => product * dim, ELEMENT_BYTES[dtype]);
    header[name] = { dtype, shape, data_offsets: [end, (end += length)] };
    return length;
  });
  const text = JSON.stringify(header);
  // Tensors begin at multiples of 8 bytes.
  const padded = Buffer.from(text.padEnd(Math.ceil(text.length / 8) * 8));
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64LE(BigInt(padded.length));
  const temporary = `${path}.tmp`;
  const file = await open(temporary, 'w');
  try {
    await file.writeFile(Buffer.concat([prefix, padded]));
    for (const [index, { name, load }] of tensors.entries()) {
      const bytes = await load();
      if (bytes.byteLength !== lengths[index]) {
        throw new RangeError(`"${name}" has ${bytes.byteLength} bytes, not ${lengths[index]}`);
      }
      await file.writeFile(bytes);
      onWritten(name);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  await moveDurably(temporary, path);
}
