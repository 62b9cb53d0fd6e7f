import { elementTypeValue } from '../../src/ort/element-type.ts';
import type { AttributeValue } from '../../src/onnx/attributes.ts';
import { GraphBuilder, NATIVE_DOMAIN } from '../../src/onnx/graph-builder.ts';
import { IoBinding } from '../../src/ort/io-binding.ts';
import { loadNativeKernels } from '../../src/ort/native-kernels.ts';
import { PREBUILT } from '../../src/ort/native-library.ts';
import { Session } from '../../src/ort/session.ts';
import { Tensor } from '../../src/ort/tensor.ts';

type Data = Float32Array | Uint8Array | Int8Array | Uint16Array | Int32Array | BigInt64Array;

/** A value that a node reads or writes; written in place where an output has an input's array. */
export interface NodeValue {
  readonly type: 'float' | 'float16' | 'uint8' | 'int8' | 'int32' | 'int64';
  readonly shape: readonly number[];
  readonly data: Data;
}

export interface NodeCall {
  readonly opType: string;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  /** Undefined ones are left out. */
  readonly inputs: readonly (NodeValue | undefined)[];
  readonly outputs: readonly NodeValue[];
}

/** Instruction sets that there are kernels for. */
const INSTRUCTIONS = ['scalar', 'avx2', 'avxvnni', 'avx512', 'amx', 'neon', 'i8mm'] as const;

/** Those that this machine has: what it lacks gives way to the best. */
export function presentInstructions(): string[] {
  return INSTRUCTIONS.filter((name) =>
    withInstructions(name, () => {
      const kernels = loadNativeKernels(PREBUILT);
      if ('missing' in kernels) throw new Error(kernels.missing);
      return kernels.instructions === name;
    }),
  );
}

/**
 * The sessions that were used last, by their graphs and how they run: to make one takes longer than to run it.
 * They are for all files of a process, and end with it.
 */
const sessions = new Map<string, Session>();
const MAX_SESSIONS = 64;

function sessionOf(graph: Uint8Array, instructions: string | null, threads: number): Session {
  const key = `${instructions} ${threads} ${Buffer.from(graph).toString('base64')}`;
  const options = { nativeKernels: true, intraOpThreads: threads, spinning: false } as const;
  const session =
    sessions.get(key) ?? withInstructions(instructions, () => new Session(graph, options));
  sessions.delete(key);
  sessions.set(key, session);
  const [oldest] = sessions;
  if (sessions.size > MAX_SESSIONS && oldest !== undefined) {
    sessions.delete(oldest[0]);
    oldest[1].release();
  }
  return session;
}

/** Runs one operator of native/ on an instruction set. */
export function runNode(
  { opType, attributes, inputs, outputs }: NodeCall,
  instructions: string | null = null,
  threads = 1,
): void {
  const graph = new GraphBuilder('node');
  const inputNames = inputs.map((value, index) => (value ? `in${index}` : ''));
  for (const [index, value] of inputs.entries()) {
    if (value) graph.input(`in${index}`, value.type, anyOf(`in${index}`, value));
  }
  const outputNames = outputs.map((_, index) => `out${index}`);
  graph.node('node', opType, inputNames, {
    domain: NATIVE_DOMAIN,
    outputs: outputNames,
    attributes,
  });
  for (const [index, value] of outputs.entries())
    graph.output(`out${index}`, value.type, anyOf(`out${index}`, value));
  const session = sessionOf(graph.toBytes(), instructions, threads);
  const binding = new IoBinding(session);
  const tensors = [...inputs, ...outputs].map((value) => value && tensorOf(value));
  for (const [index, name] of inputNames.entries()) {
    const tensor = tensors[index];
    if (tensor) binding.bindInput(name, tensor);
  }
  for (const [index, name] of outputNames.entries()) {
    const tensor = tensors[inputs.length + index];
    if (tensor) binding.bindOutput(name, tensor);
  }
  try {
    session.run(binding);
  } finally {
    for (const tensor of tensors) tensor?.release();
  }
}

/** Operators choose their kernels when they are made. */
export function withInstructions<R>(name: string | null, make: () => R): R {
  if (name === null) return make();
  process.env['CHAIRLIFT_INSTRUCTIONS'] = name;
  try {
    return make();
  } finally {
    delete process.env['CHAIRLIFT_INSTRUCTIONS'];
  }
}

/** Any size in each dimension: a session serves all of them. */
const anyOf = (name: string, { shape }: NodeValue) => shape.map((_, axis) => `${name}_${axis}`);

function tensorOf({ type, shape, data }: NodeValue): Tensor {
  if (elementTypeValue(type) === 0) throw new TypeError(`${type} is no type of tensors`);
  return Tensor.over(type, shape, data as never);
}

export const floats = (shape: readonly number[], data: Float32Array): NodeValue => ({
  type: 'float',
  shape,
  data,
});

/** Deterministic numbers, roughly normal. */
export function randomNumbers(seed: number, count: number, scale = 1): Float32Array {
  let state = seed * 2_654_435_761 + 12_345;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return ((state >>> 8) / 2 ** 24) * 2 - 1;
  };
  return Float32Array.from({ length: count }, () => (next() + next() + next()) * scale);
}
