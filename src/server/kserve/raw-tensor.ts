/** Raw bytes of tensors, as gRPC and the binary extension of REST send them. */
import { ELEMENTS_PER_PIECE } from './number-data.ts';
import {
  badTensor,
  type Datatype,
  NUMBER_BYTES,
  requireBytesCount,
  requireCount,
  type Tensor,
} from './tensor.ts';

const LENGTH_BYTES = 4;
/** Size of a piece of an answer. */
const RAW_PIECE_BYTES = 2 ** 20;

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
export function toRaw(tensor: Tensor): Uint8Array {
  if (tensor.datatype !== 'BYTES') return tensor.data;
  return packElements(tensor.data, rawLength(tensor));
}

/** Bytes that `toRaw` has. */
export function rawLength({ datatype, data }: Tensor): number {
  if (datatype !== 'BYTES') return data.length;
  return data.reduce((sum, element) => sum + LENGTH_BYTES + element.length, 0);
}

/** The same bytes, in pieces that take a turn of the event loop each. */
export function* rawPieces({ datatype, data }: Tensor): Generator<Uint8Array, void> {
  if (datatype !== 'BYTES') {
    yield* cut(data);
    return;
  }
  let group: Uint8Array[] = [];
  let length = 0;
  for (const element of data) {
    group.push(element);
    length += LENGTH_BYTES + element.length;
    if (length < RAW_PIECE_BYTES && group.length < ELEMENTS_PER_PIECE) continue;
    yield* cut(packElements(group, length));
    group = [];
    length = 0;
  }
  if (group.length > 0) yield packElements(group, length);
}

function* cut(bytes: Uint8Array): Generator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += RAW_PIECE_BYTES) {
    yield bytes.subarray(at, at + RAW_PIECE_BYTES);
  }
}

function packElements(elements: readonly Uint8Array[], length: number): Uint8Array {
  const raw = new Uint8Array(length);
  const view = new DataView(raw.buffer);
  let at = 0;
  for (const element of elements) {
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
