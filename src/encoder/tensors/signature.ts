/** Inputs and outputs of a graph without state, and checks of a request's tensors against them. */
import {
  byteLengthOfAll,
  bytesPerElement,
  type Datatype,
  isDatatype,
  numElements,
  type TensorValue,
} from './tensor.ts';

/** An input or output of a graph. */
export interface TensorSpec {
  readonly name: string;
  readonly datatype: Datatype;
  /** A number, or the name of a dimension that may have any size ('' when it has none). */
  readonly shape: readonly (number | string)[];
}

export interface GraphSignature {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  /** Whether the first dimension of all is that of a batch: requests can then share a run. */
  readonly isBatched: boolean;
}

/** A request's tensors are not what the graph takes; the message is for the client. */
export class TensorError extends Error {
  override readonly name = 'TensorError';
}

/**
 * Whether the first dimension of all inputs and outputs is that of a batch, as far as the graph shows:
 * it may have any size, by the same name in all inputs.
 */
export function findBatchDimension(
  inputs: readonly TensorSpec[],
  outputs: readonly TensorSpec[],
): boolean {
  const isFree = ({ shape: [first] }: TensorSpec) => typeof first === 'string';
  const names = new Set(inputs.map(({ shape: [first] }) => first));
  return inputs.length > 0 && inputs.every(isFree) && outputs.every(isFree) && names.size === 1;
}

/** Properties of a request that a batcher needs. */
export interface CheckedInputs {
  /** Size of the batch dimension; 1 if none exists. */
  readonly rows: number;
  readonly bytes: number;
  /** The same for requests that can share a run. */
  readonly shape: string;
  /** By the name of a dimension. */
  readonly sizes: ReadonlyMap<string, number>;
}

/**
 * @param maxBatchSize rows that a request may have
 * @throws TensorError saying what is expected
 */
export function checkInputs(
  { inputs: specs, isBatched }: GraphSignature,
  tensors: readonly TensorValue[],
  maxBatchSize: number,
): CheckedInputs {
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  if (byName.size < tensors.length) throw new TensorError('an input is given twice');
  const known = specs.map(({ name }) => name);
  const unknown = tensors.find(({ name }) => !known.includes(name));
  if (unknown) {
    throw new TensorError(`the model has no input "${unknown.name}"; it has ${known.join(', ')}`);
  }
  /** By the name of a dimension: its size, and the input that has it. */
  const sizes = new Map<string, { size: number; name: string }>();
  let rows: number | undefined;
  const shapes: string[] = [];
  for (const spec of specs) {
    const tensor = byName.get(spec.name);
    if (!tensor) throw new TensorError(`the input "${spec.name}" is missing`);
    checkTensor(spec, tensor);
    spec.shape.forEach((dimension, axis) => {
      const size = tensor.shape[axis] ?? 0;
      if (typeof dimension === 'number' || dimension === '') return;
      const other = sizes.get(dimension);
      if (other && other.size !== size) {
        throw new TensorError(
          `the dimension "${dimension}" is ${other.size} in the input "${other.name}" and ${size} ` +
            `in "${spec.name}"`,
        );
      }
      sizes.set(dimension, { size, name: spec.name });
    });
    if (isBatched) rows = requireRows(rows, tensor, maxBatchSize);
    shapes.push(tensor.shape.slice(isBatched ? 1 : 0).join());
  }
  const bytes = byteLengthOfAll(tensors);
  const named = new Map(Array.from(sizes, ([dimension, { size }]) => [dimension, size]));
  return { rows: rows ?? 1, bytes, shape: shapes.join(' '), sizes: named };
}

function checkTensor(spec: TensorSpec, tensor: TensorValue): void {
  const { name, datatype, shape } = tensor;
  const expected = shapeText(spec.shape);
  if (datatype !== spec.datatype) {
    throw new TensorError(`the input "${name}" is ${datatype}; the model takes ${spec.datatype}`);
  }
  const fits =
    shape.length === spec.shape.length &&
    spec.shape.every((size, axis) => typeof size === 'string' || size === shape[axis]);
  if (!fits) {
    throw new TensorError(
      `the input "${name}" has shape [${shape.join(', ')}]; the model takes ${expected}`,
    );
  }
  if (!shape.every((size) => Number.isSafeInteger(size) && size > 0)) {
    throw new TensorError(`the input "${name}" has a dimension that is not a whole number from 1`);
  }
  const isText = tensor.datatype === 'BYTES';
  const expectedSize = numElements(shape) * (isText ? 1 : bytesPerElement(tensor.datatype));
  const size = isText ? tensor.data.length : tensor.data.byteLength;
  if (size !== expectedSize) {
    throw new TensorError(
      `the input "${name}" has ${size} ${isText ? 'elements' : 'bytes'}; [${shape.join(', ')}] takes ` +
        `${expectedSize}`,
    );
  }
}

function requireRows(
  rows: number | undefined,
  { name, shape: [size = 1] }: TensorValue,
  maxBatchSize: number,
): number {
  if (rows !== undefined && rows !== size) {
    throw new TensorError(`the input "${name}" has ${size} rows, and another one ${rows}`);
  }
  if (size > maxBatchSize) {
    throw new TensorError(`the request has ${size} rows; a batch has ${maxBatchSize} at most`);
  }
  return size;
}

/** With -1 for a dimension of any size, as the protocol has it. */
function shapeText(shape: TensorSpec['shape']): string {
  return `[${shape.map((size) => (typeof size === 'string' ? -1 : size)).join(', ')}]`;
}

/**
 * The outputs that a request names, all if it names none.
 * @throws TensorError when the graph has no such output
 */
export function checkOutputs(
  { outputs }: GraphSignature,
  wanted: readonly string[] | null,
): readonly string[] {
  const known = outputs.map(({ name }) => name);
  const unknown = wanted?.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new TensorError(`the model has no output "${unknown}"; it has ${known.join(', ')}`);
  }
  if (wanted && new Set(wanted).size < wanted.length) {
    throw new TensorError('an output is named twice');
  }
  return wanted ?? known;
}

/** A type by its ONNX name in lower case, as the protocol calls it; undefined for others. */
export function datatypeOf(elementType: string | undefined): Datatype | undefined {
  const name = ELEMENT_TYPES[elementType ?? ''] ?? elementType?.toUpperCase() ?? '';
  return isDatatype(name) ? name : undefined;
}

const ELEMENT_TYPES: Readonly<Record<string, Datatype>> = {
  float: 'FP32',
  double: 'FP64',
  float16: 'FP16',
  bfloat16: 'BF16',
  string: 'BYTES',
};
