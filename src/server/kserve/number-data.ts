/** Numbers one by one, as JSON and typed messages have them, to the bytes of a tensor and back. */
import { badTensor, NUMBER_BYTES, type NumberType } from './tensor.ts';

type Scalar = number | bigint | boolean;

/** Number of elements written in a turn of the event loop. */
export const ELEMENTS_PER_PIECE = 8192;

interface NumberForm {
  readonly write: (view: DataView, at: number, value: Scalar) => void;
  readonly read: (view: DataView, at: number) => Scalar;
  /** Whether a value can be represented in this type. */
  readonly has: (value: Scalar) => boolean;
}

function whole(
  bits: number,
  isSigned: boolean,
  write: (view: DataView, at: number, value: number) => void,
  read: (view: DataView, at: number) => number,
): NumberForm {
  const min = isSigned ? -(2 ** (bits - 1)) : 0;
  const max = 2 ** (isSigned ? bits - 1 : bits) - 1;
  return {
    write: (view, at, value) => write(view, at, Number(value)),
    read,
    has: (value) => Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
  };
}

/** Form of 64-bit integers: a JSON number beyond 2^53 may have lost digits. */
function long(isSigned: boolean): NumberForm {
  const clamp = (value: bigint): bigint =>
    isSigned ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value);
  return {
    write: (view, at, value) => {
      if (isSigned) view.setBigInt64(at, BigInt(value), true);
      else view.setBigUint64(at, BigInt(value), true);
    },
    read: (view, at) => (isSigned ? view.getBigInt64(at, true) : view.getBigUint64(at, true)),
    has: (value) =>
      (typeof value === 'bigint' || Number.isSafeInteger(value)) &&
      clamp(BigInt(value)) === BigInt(value),
  };
}

const isNumber = (value: Scalar): boolean => typeof value === 'number';

/** FP16 and BF16 have no form in JSON, nor in typed messages. */
const FORMS: Readonly<Record<NumberType, NumberForm | null>> = {
  BOOL: {
    write: (view, at, value) => view.setUint8(at, Number(value)),
    read: (view, at) => view.getUint8(at) !== 0,
    has: (value) => typeof value === 'boolean' || value === 0 || value === 1,
  },
  UINT8: whole(
    8,
    false,
    (view, at, value) => view.setUint8(at, value),
    (view, at) => view.getUint8(at),
  ),
  UINT16: whole(
    16,
    false,
    (view, at, value) => view.setUint16(at, value, true),
    (view, at) => view.getUint16(at, true),
  ),
  UINT32: whole(
    32,
    false,
    (view, at, value) => view.setUint32(at, value, true),
    (view, at) => view.getUint32(at, true),
  ),
  UINT64: long(false),
  INT8: whole(
    8,
    true,
    (view, at, value) => view.setInt8(at, value),
    (view, at) => view.getInt8(at),
  ),
  INT16: whole(
    16,
    true,
    (view, at, value) => view.setInt16(at, value, true),
    (view, at) => view.getInt16(at, true),
  ),
  INT32: whole(
    32,
    true,
    (view, at, value) => view.setInt32(at, value, true),
    (view, at) => view.getInt32(at, true),
  ),
  INT64: long(true),
  FP16: null,
  BF16: null,
  FP32: {
    write: (view, at, value) => view.setFloat32(at, Number(value), true),
    read: (view, at) => view.getFloat32(at, true),
    has: isNumber,
  },
  FP64: {
    write: (view, at, value) => view.setFloat64(at, Number(value), true),
    read: (view, at) => view.getFloat64(at, true),
    has: isNumber,
  },
};

/** @throws ApiError 400 naming the first value that is none of the type */
export function packNumbers(
  name: string,
  datatype: NumberType,
  values: readonly unknown[],
): Uint8Array {
  const form = formOf(name, datatype);
  const bytes = NUMBER_BYTES[datatype];
  const data = new Uint8Array(values.length * bytes);
  const view = new DataView(data.buffer);
  let at = 0;
  for (const value of values) {
    if (!isScalar(value) || !form.has(value)) {
      throw badTensor(name, `element ${at / bytes} is no ${datatype}`);
    }
    form.write(view, at, value);
    at += bytes;
  }
  return data;
}

/** @throws ApiError 400 for a type that JSON has no form of */
export function requireJsonForm(name: string, datatype: NumberType): void {
  formOf(name, datatype);
}

/**
 * Elements as JSON has them, joined by commas, some 2 ms of writing each piece.
 * @throws ApiError 400 for a type that JSON has no form of
 */
export function* numberPieces(
  name: string,
  datatype: NumberType,
  data: Uint8Array,
): Generator<string, void> {
  const { read } = formOf(name, datatype);
  const bytes = NUMBER_BYTES[datatype];
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const numElements = data.length / bytes;
  for (let start = 0; start < numElements; start += ELEMENTS_PER_PIECE) {
    const length = Math.min(ELEMENTS_PER_PIECE, numElements - start);
    const values = Array.from({ length }, (_, index) => {
      const value = read(view, (start + index) * bytes);
      return typeof value === 'bigint' ? Number(value) : value;
    });
    yield `${start === 0 ? '' : ','}${JSON.stringify(values).slice(1, -1)}`;
  }
}

function formOf(name: string, datatype: NumberType): NumberForm {
  const form = FORMS[datatype];
  if (form === null) throw badTensor(name, `${datatype} can be sent as raw bytes only`);
  return form;
}

function isScalar(value: unknown): value is Scalar {
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean';
}
