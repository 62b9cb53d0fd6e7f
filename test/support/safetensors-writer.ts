import { writeFile } from 'node:fs/promises';

/** A tensor to write: its raw bytes, and what the header says of it. */
export interface RawTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

/** A header entry as it stands in the file. */
export interface HeaderEntry {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

export type Header = Record<string, HeaderEntry>;

/** A float32 tensor. */
export function floatTensor(shape: readonly number[], values: Float32Array): RawTensor {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return { dtype: 'F32', shape, bytes };
}

/** Writes a safetensors file; `editHeader` may damage its header. */
export async function writeSafetensors(
  path: string,
  tensors: Readonly<Record<string, RawTensor>>,
  editHeader: (header: Header) => unknown = (header) => header,
): Promise<void> {
  const header: Header = {};
  let end = 0;
  for (const [name, { dtype, shape, bytes }] of Object.entries(tensors)) {
    header[name] = { dtype, shape, data_offsets: [end, end + bytes.byteLength] };
    end += bytes.byteLength;
  }
  const edited = editHeader(header);
  const text = Buffer.from(typeof edited === 'string' ? edited : JSON.stringify(edited));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.byteLength));
  const data = Object.values(tensors).map(({ bytes }) => bytes);
  await writeFile(path, Buffer.concat([length, text, ...data]));
}
