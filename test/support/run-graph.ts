import { join } from 'node:path';

import { onTestFinished } from 'vitest';

import type { GraphBuilder } from '../../src/onnx/graph-builder.ts';
import { IoBinding } from '../../src/ort/io-binding.ts';
import { Session } from '../../src/ort/session.ts';
import { Tensor } from '../../src/ort/tensor.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** Writes a graph, and computes one of its float outputs from float inputs. */
export async function runGraph(
  graph: GraphBuilder,
  inputs: Readonly<Record<string, readonly [number[], Float32Array<ArrayBuffer>]>>,
  output: string,
  shape: number[],
): Promise<Float32Array> {
  const path = join(await temporaryDirectory(), 'graph.onnx');
  await graph.write(path);
  const session = new Session(path, { intraOpThreads: 1 });
  const binding = new IoBinding(session);
  const result = new Float32Array(shape.reduce((product, dim) => product * dim, 1));
  const tensors = [Tensor.over('float', shape, result)];
  for (const [name, [dims, values]] of Object.entries(inputs)) {
    const tensor = Tensor.over('float', dims, values);
    tensors.push(tensor);
    binding.bindInput(name, tensor);
  }
  onTestFinished(() => {
    for (const tensor of tensors) tensor.release();
    session.release();
  });
  const [bound] = tensors;
  if (bound) binding.bindOutput(output, bound);
  session.run(binding);
  return result;
}
