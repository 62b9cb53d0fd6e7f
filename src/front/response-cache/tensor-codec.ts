/** Tensors as bytes. Decoding gives the same tensors, bit for bit. */
import {
  dataFromBytes,
  isDatatype,
  type NumberType,
  type TensorValue,
} from '../../encoder/tensors/tensor.ts';
import { ByteReader, ByteWriter } from './byte-writer.ts';

export function encodeTensors(tensors: readonly TensorValue[]): Buffer {
  const writer = new ByteWriter();
  for (const tensor of tensors) {
    writer.text(tensor.name);
    writer.text(tensor.datatype);
    writer.ints(tensor.shape);
    if (tensor.datatype === 'BYTES') {
      writer.int(tensor.data.length);
      for (const item of tensor.data) writer.bytes(item);
    } else {
      const { buffer, byteOffset, byteLength } = tensor.data;
      writer.bytes(new Uint8Array(buffer, byteOffset, byteLength));
    }
  }
  return writer.finish();
}

/** @throws RangeError for what are no tensors */
export function decodeTensors(bytes: Uint8Array): TensorValue[] {
  const reader = new ByteReader(bytes);
  const tensors: TensorValue[] = [];
  while (!reader.isAtEnd) tensors.push(readTensor(reader));
  return tensors;
}

function readTensor(reader: ByteReader): TensorValue {
  const name = reader.text();
  const datatype = reader.text();
  const shape = reader.ints();
  if (!isDatatype(datatype)) throw new RangeError(`${datatype} is no type of tensors`);
  if (datatype !== 'BYTES') return { name, datatype, shape, data: readNumbers(reader, datatype) };
  const data = Array.from({ length: reader.count(4) }, () => reader.bytes());
  return { name, datatype, shape, data };
}

function readNumbers(reader: ByteReader, datatype: NumberType) {
  return dataFromBytes(datatype, reader.bytes());
}
