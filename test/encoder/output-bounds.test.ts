/** Outputs whose size a request names: bounded before the run, by it and after it. */
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { TensorValue } from '../../src/encoder/tensors/tensor.ts';
import { TENSOR_BATCHING } from '../../src/front/batching/default-batching.ts';
import { ANY_ANSWER } from '../../src/front/caller.ts';
import { TensorModel } from '../../src/front/tensors/tensor-model.ts';
import { NotCachedError } from '../../src/front/not-cached-error.ts';
import { LIMITS } from '../../src/limits.ts';
import { GraphBuilder } from '../../src/onnx/graph-builder.ts';
import { ModelProtoSchema, TensorProto_DataType } from '../../src/onnx/onnx_pb.ts';
import { temporaryCache } from '../support/temporary-cache.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const CALLER = { client: '', signal: new AbortController().signal };
const MIB = 2 ** 20;

/** `out` [n] is one and a half, as often as `count` [1] says; `sum` [1] is their sum. */
function expandGraph(): GraphBuilder {
  const graph = new GraphBuilder('expand');
  graph.input('count', 'int64', [1]);
  graph.initializer('value', 'float', [1], Float32Array.of(1.5));
  graph.node('out', 'Expand', ['value', 'count']);
  graph.node('sum', 'ReduceSum', ['out']);
  graph.output('out', 'float', ['n']);
  graph.output('sum', 'float', [1]);
  return graph;
}

/** `out` [batch, n]: each row as long as the longest `count` [batch] of the run. */
function batchGraph(): GraphBuilder {
  const graph = new GraphBuilder('batch');
  graph.input('count', 'int64', ['batch']);
  graph.node('rows', 'Shape', ['count']);
  graph.node('longest', 'ReduceMax', ['count']);
  graph.initializer('value', 'float', [1], Float32Array.of(1.5));
  graph.node('size', 'Concat', ['rows', 'longest'], { attributes: { axis: 0n } });
  graph.node('out', 'Expand', ['value', 'size']);
  graph.output('out', 'float', ['batch', 'n']);
  return graph;
}

/** The graph with inputs and outputs of texts, by their names. */
function withTexts(graph: GraphBuilder, ...names: readonly string[]) {
  const model = fromBinary(ModelProtoSchema, graph.toBytes());
  for (const { name, type } of [...(model.graph?.input ?? []), ...(model.graph?.output ?? [])]) {
    if (type?.value.case !== 'tensorType' || !names.includes(name)) continue;
    type.value.value.elemType = TensorProto_DataType.STRING;
  }
  return { toBytes: () => toBinary(ModelProtoSchema, model) };
}

async function start(graph: Pick<GraphBuilder, 'toBytes'>) {
  const started = await open(await temporaryDirectory(), graph);
  onTestFinished(() => started.model.stop());
  return started;
}

async function open(folder: string, graph: Pick<GraphBuilder, 'toBytes'>) {
  const path = join(folder, 'model.onnx');
  await writeFile(path, graph.toBytes());
  const model = new TensorModel({
    source: { type: 'graph', path, isBatched: null },
    threads: 1,
    runTimeoutMs: 60_000,
    batching: TENSOR_BATCHING,
  });
  await model.start();
  const ask = (count: number, outputs: readonly string[] | null = null) =>
    model.infer([counts(count)], { outputs }, CALLER);
  return { model, ask };
}

function counts(...values: number[]): TensorValue {
  const data = BigInt64Array.from(values, BigInt);
  return { name: 'count', datatype: 'INT64', shape: [values.length], data };
}

/** Peak of a process's memory, in MiB; 0 where the system does not tell. */
function peakMib(pid: number | undefined): number {
  if (process.platform !== 'linux') return 0;
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1]) / 1024;
}

describe('outputs', () => {
  let expanding: Awaited<ReturnType<typeof open>>;
  beforeAll(async () => {
    const folder = await temporaryCache();
    expanding = await open(folder.path, expandGraph());
    return async () => {
      await expanding.model.stop();
      await folder.remove();
    };
  });

  it('of 1 GiB, asked for in a few bytes, fail the request and nothing else', async () => {
    const { model, ask } = expanding;
    const [pid] = model.pids;
    const message = `it takes more than ${LIMITS.tensorRunBytes} bytes of memory`;
    await expect(ask(256 * MIB)).rejects.toMatchObject({ name: 'RunError', message });
    // Values that are only between the inputs and the outputs count too.
    await expect(ask(256 * MIB, ['sum'])).rejects.toThrow(message);
    expect(await ask(2)).toMatchObject([
      { data: Float32Array.of(1.5, 1.5) },
      { data: Float32Array.of(3) },
    ]);
    expect(model.pids).toEqual([pid]);
    expect(model.numCrashes).toBe(0);
    expect(peakMib(pid)).toBeLessThan(400);
  });

  it('beyond the limit do not leave the process of the model', async () => {
    const { ask } = expanding;
    await expect(ask(17 * MIB)).rejects.toThrow(
      `its outputs have ${17 * 4 * MIB + 4} bytes; ${LIMITS.tensorOutputBytes} are the most`,
    );
    // Not what nobody wants.
    expect(await ask(17 * MIB, ['sum'])).toMatchObject([{ data: Float32Array.of(1.5 * 17 * MIB) }]);
  });

  it('of many megabytes arrive whole', async () => {
    const { ask } = expanding;
    const [out] = await ask(3 * MIB + 1, ['out']);
    expect(out?.shape).toEqual([3 * MIB + 1]);
    expect(out?.data.length).toBe(3 * MIB + 1);
    expect(new Set(out?.data as Float32Array)).toEqual(new Set([1.5]));
  });

  it('after a large run have as much room as before', async () => {
    const { ask } = expanding;
    for (const mib of [256, 288, 384, 32, 300, 448]) {
      expect(await ask((mib / 4) * MIB, ['sum'])).toMatchObject([{ name: 'sum' }]);
    }
  });

  it('of one request do not fail those that came with it', async () => {
    const { model, ask } = await start(batchGraph());
    const answers = await Promise.allSettled([ask(2), ask(20 * MIB), ask(3), ask(400 * MIB)]);
    expect(answers.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
    ]);
    expect(answers[0]).toMatchObject({ value: [{ data: Float32Array.of(1.5, 1.5) }] });
    expect(model.stats).toMatchObject({ numBatches: 1, numSucceeded: 2, numFailed: 2 });
  });

  it('that shapes tell are refused before the run', async () => {
    const graph = new GraphBuilder('wide');
    graph.input('x', 'float', [1]);
    graph.initializer('shape', 'int64', [2], BigInt64Array.of(3n, BigInt(8 * MIB)));
    graph.node('out', 'Expand', ['x', 'shape']);
    graph.output('out', 'float', [3, 8 * MIB]);
    const { model } = await start(graph);
    const x = { name: 'x', datatype: 'FP32', shape: [1], data: Float32Array.of(1) } as const;
    await expect(model.infer([x], {}, CALLER)).rejects.toThrow(
      `the outputs would have ${3 * 32 * MIB} bytes and more; ${LIMITS.tensorOutputBytes} are the most`,
    );
    expect(model.stats.numBatches).toBe(0);
  });

  it('are not made for a request that wants stored answers alone', async () => {
    const { model } = expanding;
    const { numBatches } = model.stats;
    const cache = { ...ANY_ANSWER, onlyFound: true };
    const asked = model.infer([counts(1)], {}, { ...CALLER, cache });
    await expect(asked).rejects.toThrow(NotCachedError);
    expect(model.stats.numBatches).toBe(numBatches);
  });

  it.runIf(process.platform === 'linux')(
    'of texts that take too much memory fail the request, and the process is replaced',
    async () => {
      const graph = new GraphBuilder('texts');
      graph.input('count', 'int64', [1]);
      graph.input('text', 'float', [1]);
      graph.node('out', 'Expand', ['text', 'count']);
      graph.output('out', 'float', ['n']);
      const { model } = await start(withTexts(graph, 'text', 'out'));
      const ask = (count: number) => {
        const data = [Buffer.alloc(MIB, 'a')];
        const text: TensorValue = { name: 'text', datatype: 'BYTES', shape: [1], data };
        return model.infer([counts(count), text], {}, CALLER);
      };
      await expect(ask(65)).rejects.toThrow(`has ${65 * MIB} bytes`);
      await expect(ask(4000)).rejects.toThrow('it takes too much memory');
      expect(model.numCrashes).toBe(1);
      expect(await ask(2)).toMatchObject([{ shape: [2] }]);
    },
  );

  it('can be named once', async () => {
    const { ask } = expanding;
    await expect(ask(1, ['out', 'out'])).rejects.toThrow('an output is named twice');
  });
});
