/** Inputs of many megabytes: they go to the model's process in parts. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { TensorValue } from '../../src/encoder/tensors/tensor.ts';
import { TENSOR_BATCHING } from '../../src/front/batching/default-batching.ts';
import { TensorModel } from '../../src/front/tensors/tensor-model.ts';
import { GraphBuilder } from '../../src/onnx/graph-builder.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const CALLER = { client: '', signal: new AbortController().signal };
const LENGTH = 2 ** 21 + 3;

async function identity(): Promise<TensorModel> {
  const graph = new GraphBuilder('identity');
  graph.input('x', 'float', ['n']);
  graph.node('y', 'Identity', ['x']);
  graph.output('y', 'float', ['n']);
  const path = join(await temporaryDirectory(), 'model.onnx');
  await writeFile(path, graph.toBytes());
  const model = new TensorModel({
    source: { type: 'graph', path, isBatched: false },
    threads: 1,
    runTimeoutMs: 60_000,
    batching: TENSOR_BATCHING,
  });
  onTestFinished(() => model.stop());
  await model.start();
  return model;
}

function numbers(first: number): TensorValue {
  const data = Float32Array.from({ length: LENGTH }, (_, at) => first + (at % 1000));
  return { name: 'x', datatype: 'FP32', shape: [LENGTH], data };
}

it('they arrive whole, a small request after large ones too', async () => {
  const model = await identity();
  const firsts = [1, 2, 3];
  const answers = await Promise.all(
    firsts.map((first) => model.infer([numbers(first)], { outputs: null }, CALLER)),
  );
  const bytes = (tensor: TensorValue | undefined) =>
    Buffer.from(((tensor?.data ?? new Float32Array()) as Float32Array<ArrayBuffer>).buffer);
  for (const [index, [y]] of answers.entries()) {
    expect(bytes(y).equals(bytes(numbers(firsts[index] ?? NaN)))).toBe(true);
  }
  const small: TensorValue = { name: 'x', datatype: 'FP32', shape: [1], data: Float32Array.of(7) };
  expect(await model.infer([small], { outputs: null }, CALLER)).toMatchObject([
    { data: Float32Array.of(7) },
  ]);
});

it.each([5])('a process that is killed after %i ms gets them again', async (ms) => {
  const model = await identity();
  const answer = model.infer([numbers(1)], { outputs: null }, CALLER);
  const [pid = NaN] = model.pids;
  setTimeout(() => process.kill(pid, 'SIGKILL'), ms);
  const [y] = await answer;
  expect(y?.data).toHaveLength(LENGTH);
});

it('a model that is stopped meanwhile answers with an error', async () => {
  const model = await identity();
  const answer = model.infer([numbers(1)], { outputs: null }, CALLER);
  await Promise.all([expect(answer).rejects.toThrow(/stopped/), model.stop()]);
});
