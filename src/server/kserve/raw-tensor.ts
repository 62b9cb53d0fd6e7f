/** Raw bytes of tensors, as gRPC and the binary extension of REST send them. */
import {
  badTensor,
  type Datatype,
  NUMBER_BYTES,
  requireBytesCount,
  requireCount,
  type Tensor,
} from './tensor.ts';

const LENGTH_BYTES = 4;

/** The tensor that `raw` holds, without a copy. @throws ApiError 400 when it does not fit its shape */
export function fromRaw(
  name: string,
  datatype: Datatype,
  shape: readonly number[],
  raw: Uint8Array,
): Tensor {
  if (datatype === 'BYTES') {
    const data = splitElements(raw, name);
    requireCount(data.length, shape, name);
    return { name, datatype, shape, data };
  }
  const bytes = NUMBER_BYTES[datatype];
  if (raw.length % bytes !== 0) {
    throw badTensor(name, `${raw.length} bytes are no whole number of ${datatype}`);
  }
  requireCount(raw.length / bytes, shape, name);
  return { name, datatype, shape, data: raw };
}

/** Each element after its length, in four bytes. */
export function toRaw({ datatype, data }: Tensor): Uint8Array {
  if (datatype !== 'BYTES') return data;
  const numBytes = data.reduce((sum, element) => sum + LENGTH_BYTES + element.length, 0);
  const raw = new Uint8Array(numBytes);
  const view = new DataView(raw.buffer);
  let at = 0;
  for (const element of data) {
    view.setUint32(at, element.length, true);
    raw.set(element, at + LENGTH_BYTES);
    at += LENGTH_BYTES + element.length;
  }
  return raw;
}

function splitElements(raw: Uint8Array, name: string): Uint8Array[] {
  const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
  const elements: Uint8Array[] = [];
  let at = 0;
  while (at < raw.length) {
    const start = at + LENGTH_BYTES;
    const end = start <= raw.length ? start + view.getUint32(at, true) : Infinity;
    if (end > raw.length) throw badTensor(name, 'an element is longer than what there is of it');
    elements.push(raw.subarray(start, end));
    requireBytesCount(elements.length, name);
    at = end;
  }
  return elements;
}
