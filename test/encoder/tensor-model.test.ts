/** Any graph without state, in a process of its own. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openEncoder } from '../../src/encoder/open-encoder.ts';
import type { TensorValue } from '../../src/encoder/tensors/tensor.ts';
import { TENSOR_BATCHING } from '../../src/front/batching/default-batching.ts';
import type { BatcherOptions } from '../../src/front/batching/batcher-options.ts';
import { TensorModel } from '../../src/front/tensors/tensor-model.ts';
import type { Priorities } from '../../src/front/tensors/triton-config.ts';
import { GraphBuilder } from '../../src/onnx/graph-builder.ts';
import { temporaryCache } from '../support/temporary-cache.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const CALLER = { client: '', signal: new AbortController().signal };
const TABLE_ROWS = 4;

/** `row` [batch, 2] is the row of a table that `index` [batch] says, and `twice` [batch] its double. */
function tableGraph(): GraphBuilder {
  const graph = new GraphBuilder('table');
  graph.input('index', 'int64', ['batch']);
  const values = Float32Array.from({ length: 2 * TABLE_ROWS }, (_, place) => place);
  graph.initializer('table', 'float', [TABLE_ROWS, 2], values);
  graph.node('row', 'Gather', ['table', 'index']);
  graph.node('twice', 'Add', ['index', 'index']);
  graph.output('row', 'float', ['batch', 2]);
  graph.output('twice', 'int64', ['batch']);
  return graph;
}

async function start(
  graph: GraphBuilder,
  batching: Partial<BatcherOptions> = {},
  priorities: Priorities | null = null,
) {
  const model = await openModel(await temporaryDirectory(), graph, batching, priorities);
  onTestFinished(() => model.stop());
  return model;
}

async function openModel(
  folder: string,
  graph: GraphBuilder,
  batching: Partial<BatcherOptions> = {},
  priorities: Priorities | null = null,
) {
  const path = join(folder, 'model.onnx');
  await writeFile(path, graph.toBytes());
  const model = new TensorModel({
    source: { type: 'graph', path, isBatched: null },
    threads: 1,
    runTimeoutMs: 60_000,
    batching: { ...TENSOR_BATCHING, ...batching },
    priorities,
  });
  await model.start();
  return model;
}

function indices(...values: number[]): TensorValue {
  const data = BigInt64Array.from(values, BigInt);
  return { name: 'index', datatype: 'INT64', shape: [values.length], data };
}

describe('a model without state', () => {
  let table: TensorModel;
  beforeAll(async () => {
    const folder = await temporaryCache();
    table = await openModel(folder.path, tableGraph());
    return async () => {
      await table.stop();
      await folder.remove();
    };
  });
  /** Counts that a run adds to the table's. */
  const countsSince = (before: TensorModel['stats']) => ({
    numBatches: table.stats.numBatches - before.numBatches,
    numRows: table.stats.numRows - before.numRows,
    numSucceeded: table.stats.numSucceeded - before.numSucceeded,
    numFailed: table.stats.numFailed - before.numFailed,
  });

  it('tells what it takes and gives, and refuses other tensors before they are queued', async () => {
    const model = table;
    const before = { ...model.stats };
    expect(model.signature).toEqual({
      inputs: [{ name: 'index', datatype: 'INT64', shape: ['batch'] }],
      outputs: [
        { name: 'row', datatype: 'FP32', shape: ['batch', 2] },
        { name: 'twice', datatype: 'INT64', shape: ['batch'] },
      ],
      isBatched: true,
    });
    expect(model.memoryBytes).toBeGreaterThan(2 ** 20);
    await expect(model.infer([], {}, CALLER)).rejects.toThrow('the input "index" is missing');
    await expect(model.infer([indices(1)], { outputs: ['x'] }, CALLER)).rejects.toThrow(
      'the model has no output "x"; it has row, twice',
    );
    expect(countsSince(before).numBatches).toBe(0);
  });

  it('runs requests together, and gives each its own rows', async () => {
    const model = table;
    const before = { ...model.stats };
    const answers = await Promise.all([
      model.infer([indices(3)], {}, CALLER),
      model.infer([indices(0, 2)], { outputs: ['twice', 'row'] }, CALLER),
      model.infer([indices(1)], { outputs: ['row'] }, CALLER),
    ]);
    expect(answers).toEqual([
      [
        { name: 'row', datatype: 'FP32', shape: [1, 2], data: Float32Array.of(6, 7) },
        { name: 'twice', datatype: 'INT64', shape: [1], data: BigInt64Array.of(6n) },
      ],
      [
        { name: 'twice', datatype: 'INT64', shape: [2], data: BigInt64Array.of(0n, 4n) },
        { name: 'row', datatype: 'FP32', shape: [2, 2], data: Float32Array.of(0, 1, 4, 5) },
      ],
      [{ name: 'row', datatype: 'FP32', shape: [1, 2], data: Float32Array.of(2, 3) }],
    ]);
    expect(countsSince(before)).toMatchObject({ numBatches: 1, numRows: 4, numSucceeded: 3 });
  });

  it('fails the one request of a batch that makes the graph fail', async () => {
    const model = table;
    const before = { ...model.stats };
    const answers = await Promise.allSettled([
      model.infer([indices(1)], { outputs: ['row'] }, CALLER),
      model.infer([indices(TABLE_ROWS)], {}, CALLER),
      model.infer([indices(2)], { outputs: ['row'] }, CALLER),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(answers[1]).toMatchObject({
      reason: { name: 'RunError', message: expect.stringMatching(/indices element out of data/) },
    });
    expect(countsSince(before)).toMatchObject({ numBatches: 1, numSucceeded: 2, numFailed: 1 });
  });

  it('takes requests by their priorities, where it has some', async () => {
    const model = await start(tableGraph(), { maxBatchSize: 1 }, { levels: 3, default: 2 });
    const order: number[] = [];
    const ask = async (priority: number) => {
      await model.infer([indices(1)], { priority }, CALLER);
      order.push(priority);
    };
    await Promise.all([ask(3), ask(0), ask(1)]);
    expect(order).toEqual([1, 0, 3]);
    await expect(ask(4)).rejects.toThrow('the priority is 4; the model has 1 to 3');
  });

  it('is run for each request by itself where there is no batch dimension', async () => {
    const graph = new GraphBuilder('sum');
    graph.input('x', 'float', [2, 'n']);
    graph.node('y', 'Add', ['x', 'x']);
    graph.output('y', 'float', [2, 'n']);
    const model = await start(graph);
    const x = { name: 'x', datatype: 'FP32', shape: [2, 1], data: Float32Array.of(1, 2) } as const;
    const answers = await Promise.all([model.infer([x], {}, CALLER), model.infer([x], {}, CALLER)]);
    const y = { name: 'y', datatype: 'FP32', shape: [2, 1], data: Float32Array.of(2, 4) };
    expect(answers).toEqual([[y], [y]]);
    expect(model.stats.numBatches).toBe(2);
  });

  it('has all answered though its processes are killed', async () => {
    const model = await start(tableGraph(), { instances: 2, maxBatchSize: 4 });
    const requests = Array.from({ length: 200 }, (_, place) =>
      model.infer([indices(place % TABLE_ROWS)], { outputs: ['row'] }, CALLER),
    );
    for (const pid of model.pids) if (pid !== undefined) process.kill(pid, 'SIGKILL');
    const answers = await Promise.all(requests);
    const first = answers.map(([row]) => row?.data[0]);
    expect(first).toEqual(requests.map((_, place) => 2 * (place % TABLE_ROWS)));
    expect(model.numCrashes).toBe(2);
  });

  it('can be said to have a batch dimension, or none', async () => {
    const path = join(await temporaryDirectory(), 'model.onnx');
    await writeFile(path, tableGraph().toBytes());
    const open = (isBatched: boolean) => openEncoder({ type: 'graph', path, isBatched }, 1);
    expect((await open(false)).signature.isBatched).toBe(false);
    const graph = new GraphBuilder('one');
    graph.input('x', 'float', [1, 'n']);
    graph.node('y', 'Add', ['x', 'x']);
    graph.output('y', 'float', [1, 'n']);
    await writeFile(path, graph.toBytes());
    await expect(open(true)).rejects.toThrow(
      'max_batch_size is set, but "x" has no first dimension of any size',
    );
  });

  it.each([
    ['no model', /model\.onnx is a text, not the file itself/],
    [Buffer.alloc(64, 0xff), /Protobuf parsing failed/i],
  ])('that cannot be loaded says why: %o', async (content, why) => {
    const path = join(await temporaryDirectory(), 'model.onnx');
    await writeFile(path, content);
    const model = new TensorModel({
      source: { type: 'graph', path, isBatched: null },
      threads: 1,
      runTimeoutMs: 60_000,
      batching: TENSOR_BATCHING,
    });
    await expect(model.start()).rejects.toThrow(why);
    await model.stop();
  });
});
