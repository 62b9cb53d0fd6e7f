import { ort, type Pointer } from './api.ts';
import { STRING_VALUE } from './element-type.ts';
import { IoBinding } from './io-binding.ts';
import { addressOf, keepDuringJob } from './native-memory.ts';
import type { RunOptions } from './run-options.ts';
import type { Session } from './session.ts';
import { StringTensor } from './string-tensor.ts';
import { Tensor } from './tensor.ts';
import { describeTensor } from './tensor-shape.ts';

/**
 * Runs a graph whose outputs have shapes that nobody knows before: ONNX Runtime allocates them.
 * @param inputs by name
 * @param outputs names of those that are wanted
 * @returns one tensor for each, for the caller to release
 * @throws OrtError when the run fails; RangeError when the graph has no such input
 */
export function runForOutputs(
  session: Session,
  inputs: ReadonlyMap<string, Tensor | StringTensor>,
  outputs: readonly string[],
  options?: RunOptions,
): (Tensor | StringTensor)[] {
  const binding = new IoBinding(session);
  for (const [name, tensor] of inputs) binding.bindInput(name, tensor);
  const texts = outputs.map((name) => new TextEncoder().encode(`${name}\0`));
  const values = new BigUint64Array(outputs.length);
  keepDuringJob(binding, texts);
  ort().api.Run(
    session.pointer,
    options?.pointer ?? null,
    binding.inputs.names,
    binding.inputs.values(),
    binding.inputs.count,
    BigUint64Array.from(texts, addressOf),
    outputs.length,
    values,
  );
  const tensors: (Tensor | StringTensor)[] = [];
  try {
    for (const pointer of values) tensors.push(adopt(pointer));
    return tensors;
  } catch (error) {
    for (const tensor of tensors) tensor.release();
    for (const pointer of values.subarray(tensors.length + 1)) ort().api.ReleaseValue(pointer);
    throw error;
  }
}

function adopt(pointer: Pointer): Tensor | StringTensor {
  const { elementType, shape } = describeTensor(pointer);
  return elementType === STRING_VALUE ? new StringTensor(pointer, shape) : Tensor.adopt(pointer);
}
