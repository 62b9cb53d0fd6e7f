import { LIMITS } from '../limits.ts';
import { GIVES_BACK, isBeyondArena } from '../ort/bounded-arena.ts';
import { type ElementType } from '../ort/element-type.ts';
import { runForOutputs } from '../ort/run-for-outputs.ts';
import { RunOptions } from '../ort/run-options.ts';
import type { Session } from '../ort/session.ts';
import { StringTensor } from '../ort/string-tensor.ts';
import { Tensor } from '../ort/tensor.ts';
import type { Batch } from './batch-runner.ts';
import type { EncoderInput, TensorsInput } from './process/protocol.ts';
import {
  datatypeOf,
  findBatchDimension,
  type GraphSignature,
  type TensorSpec,
} from './tensors/signature.ts';
import {
  copyInto,
  type Datatype,
  emptyData,
  numElements,
  type NumberType,
  slice,
  type TensorValue,
} from './tensors/tensor.ts';

/**
 * Inputs and outputs of a loaded graph. Outputs of types that we don't handle are left out.
 * @param isBatched found in the graph if null
 * @throws Error when it can't be served
 */
export function signatureOf(session: Session, isBatched: boolean | null): GraphSignature {
  const specs = (infos: Session['inputs']) =>
    infos.flatMap(({ name, type, shape }): TensorSpec[] => {
      const datatype = datatypeOf(type);
      return datatype ? [{ name, datatype, shape }] : [];
    });
  const [inputs, outputs] = [specs(session.inputs), specs(session.outputs)];
  const other = session.inputs.find(({ name }) => !inputs.some((input) => input.name === name));
  if (other) throw new Error(`the input "${other.name}" is of a type that can't be served`);
  if (outputs.length === 0) throw new Error('the graph has no output of a type that can be served');
  const fixed = [...inputs, ...outputs].find(({ shape: [first] }) => typeof first !== 'string');
  if (isBatched === true && fixed) {
    throw new Error(
      `max_batch_size is set, but "${fixed.name}" has no first dimension of any size`,
    );
  }
  return { inputs, outputs, isBatched: isBatched ?? findBatchDimension(inputs, outputs) };
}

/** Batches of a graph's own inputs and outputs, laid together along the first dimension. */
export class TensorBatch implements Batch {
  readonly #session: Session;
  readonly #signature: GraphSignature;
  readonly #options = new RunOptions(GIVES_BACK);

  constructor(session: Session, signature: GraphSignature) {
    this.#session = session;
    this.#signature = signature;
  }

  run(inputs: readonly EncoderInput[]) {
    const requests = inputs.filter((input): input is TensorsInput => input.type === 'tensors');
    if (requests.length < inputs.length) throw new Error('the model takes tensors, not texts');
    const wanted = new Set(requests.flatMap(({ outputs }) => outputs));
    const specs = this.#signature.outputs.filter(({ name }) => wanted.has(name));
    const given = new Map<string, Tensor | StringTensor>();
    let tensors: (Tensor | StringTensor)[];
    try {
      for (const { name } of this.#signature.inputs) {
        const parts = requests.map((request) => request.tensors.find((each) => each.name === name));
        given.set(name, overAll(parts.filter((part) => part !== undefined)));
      }
      const names = specs.map(({ name }) => name);
      tensors = this.#runBounded(given, names);
    } finally {
      for (const tensor of given.values()) tensor.release();
    }
    try {
      const maxTexts = requests.length * LIMITS.tensorStrings;
      const wholes = specs.map(({ name, datatype }, index) =>
        valueOf(name, datatype, tensors[index], maxTexts),
      );
      return { outputs: split(requests, wholes), tensors };
    } catch (error) {
      for (const tensor of tensors) tensor.release();
      throw error;
    }
  }

  /** @throws Error when it takes more memory than it may; OrtError when it fails otherwise */
  #runBounded(
    given: ReadonlyMap<string, Tensor | StringTensor>,
    names: readonly string[],
  ): (Tensor | StringTensor)[] {
    const attempt = () => runForOutputs(this.#session, given, names, this.#options);
    try {
      return attempt();
    } catch (error) {
      if (!isBeyondArena(error)) throw error;
    }
    try {
      // Memory that the previous run left in the arena has been given back by now.
      return attempt();
    } catch (error) {
      if (!isBeyondArena(error)) throw error;
      const message = `it takes more than ${LIMITS.tensorRunBytes} bytes of memory`;
      throw new Error(message, { cause: error });
    }
  }
}

/** @throws Error when the outputs have not as many rows as the inputs */
function split(requests: readonly TensorsInput[], wholes: readonly TensorValue[]): TensorValue[][] {
  const total = requests.reduce((sum, { rows }) => sum + rows, 0);
  let first = 0;
  return requests.map(({ rows, outputs }) => {
    const start = first;
    first += rows;
    const own = wholes.filter(({ name }) => outputs.includes(name));
    return requests.length === 1 ? own : own.map((whole) => rowsOf(whole, start, rows, total));
  });
}

function rowsOf(whole: TensorValue, start: number, rows: number, total: number): TensorValue {
  const [size = 1, ...rest] = whole.shape;
  if (size !== total) {
    throw new Error(`the output "${whole.name}" has ${size} rows for ${total} of the inputs`);
  }
  const each = numElements(rest);
  const [from, to] = [start * each, (start + rows) * each];
  const shape = [rows, ...rest];
  return whole.datatype === 'BYTES'
    ? { ...whole, shape, data: whole.data.slice(from, to) }
    : { ...whole, shape, data: slice(whole.data, from, to) };
}

function valueOf(
  name: string,
  datatype: Datatype,
  tensor: Tensor | StringTensor | undefined,
  maxTexts: number,
): TensorValue {
  const { shape = [] } = tensor ?? {};
  if (datatype === 'BYTES') {
    if (!(tensor instanceof StringTensor)) return { name, datatype, shape, data: [] };
    requireFewTexts(name, tensor, maxTexts);
    return { name, datatype, shape, data: tensor.elements() };
  }
  const data = tensor instanceof Tensor ? tensor.data : emptyData(datatype, 0);
  return { name, datatype, shape, data };
}

/** Before they are copied. @throws Error */
function requireFewTexts(name: string, tensor: StringTensor, maxTexts: number): void {
  const count = numElements(tensor.shape);
  if (count > maxTexts) {
    throw new Error(`the output "${name}" has ${count} texts; ${maxTexts} are the most`);
  }
  const { byteLength } = tensor;
  if (byteLength <= LIMITS.tensorOutputBytes) return;
  const most = LIMITS.tensorOutputBytes;
  throw new Error(`the output "${name}" has ${byteLength} bytes; ${most} are the most`);
}

/** Tensors one below the other, without a copy if there is only one of numbers. */
function overAll(parts: readonly TensorValue[]): Tensor | StringTensor {
  const [first] = parts;
  if (!first) throw new Error('an input is missing');
  const rows = parts.reduce((sum, { shape: [size = 1] }) => sum + size, 0);
  const shape = parts.length === 1 ? first.shape : [rows, ...first.shape.slice(1)];
  if (first.datatype === 'BYTES') {
    return StringTensor.of(
      shape,
      parts.flatMap((part) => (part.datatype === 'BYTES' ? part.data : [])),
    );
  }
  const { datatype } = first;
  if (parts.length === 1) return Tensor.over(ELEMENT_TYPES[datatype], shape, first.data);
  const data = parts.flatMap((part) => (part.datatype === 'BYTES' ? [] : [part.data]));
  const whole = emptyData(
    datatype,
    data.reduce((sum, { length }) => sum + length, 0),
  );
  let offset = 0;
  for (const part of data) {
    copyInto(whole, part, offset);
    offset += part.length;
  }
  return Tensor.over(ELEMENT_TYPES[datatype], shape, whole);
}

const ELEMENT_TYPES: Readonly<Record<NumberType, ElementType>> = {
  BOOL: 'bool',
  UINT8: 'uint8',
  UINT16: 'uint16',
  UINT32: 'uint32',
  UINT64: 'uint64',
  INT8: 'int8',
  INT16: 'int16',
  INT32: 'int32',
  INT64: 'int64',
  FP16: 'float16',
  BF16: 'bfloat16',
  FP32: 'float',
  FP64: 'double',
};
