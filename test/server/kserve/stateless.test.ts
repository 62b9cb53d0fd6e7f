/** Encoders and ONNX models without state through the Open Inference Protocol over REST. */
import { describe, expect, it } from 'vitest';
import { modelDefinition } from '../../front/registry/fake-loader.ts';
import { encoderReference } from '../../encoder/support/encoders.ts';
import { TensorProto_DataType } from '../../../src/onnx/onnx_pb.ts';
import type { AnyRuntime } from '../../../src/server/runtimes.ts';
import { post, type Target } from '../support/client.ts';
import { useEncoders, pairGraph, tableGraph, tensorRuntime } from '../support/stateless-models.ts';
import { MODEL, useServers } from '../support/test-server.ts';
import { fakeReading } from '../../support/fake-engine.ts';

const server = useServers();
const encoders = useEncoders();

async function serving(...models: AnyRuntime[]) {
  return server({
    models: models.map(({ model }) => modelDefinition(model.id, {}, { preload: true })),
    runtimes: Object.fromEntries(models.map((runtime) => [runtime.model.id, runtime])),
  });
}

async function infer(target: Target, name: string, body: object): Promise<unknown> {
  const response = await post(target, `/v2/models/${name}/infer`, body);
  const json: unknown = await response.json();
  expect({ status: response.status, json }).toMatchObject({ status: 200 });
  return json;
}

async function refusal(target: Target, name: string, body: object): Promise<string> {
  const response = await post(target, `/v2/models/${name}/infer`, body);
  const json = (await response.json()) as { error: string };
  expect({ status: response.status, json }).toMatchObject({ status: 400 });
  return json.error;
}

const get = async (target: Target, path: string): Promise<unknown> =>
  (await fetch(target.url + path)).json();

const tensor = (name: string, datatype: string, shape: number[], data: unknown[]) => ({
  name,
  datatype,
  shape,
  data,
});

describe('an ONNX model without state', () => {
  it('describes itself, its batch dimension as Triton does', async () => {
    const target = await serving(await tensorRuntime('table', tableGraph()));
    expect(await get(target, '/v2/models/table')).toMatchObject({
      platform: 'onnxruntime_onnx',
      inputs: [{ name: 'index', datatype: 'INT64', shape: [-1] }],
      outputs: [{ name: 'row', datatype: 'FP32', shape: [-1, 2] }],
    });
    expect(await get(target, '/v2/models/table/config')).toMatchObject({
      max_batch_size: 8,
      input: [{ name: 'index', data_type: 'TYPE_INT64', dims: [] }],
      output: [{ name: 'row', data_type: 'TYPE_FP32', dims: [2] }],
    });
  });

  it('answers, in batches with others, and is counted', async () => {
    const runtime = await tensorRuntime('table', tableGraph());
    const target = await serving(runtime);
    const answers = await Promise.all(
      [3, 0, 2].map((index) =>
        infer(target, 'table', { inputs: [tensor('index', 'INT64', [1], [index])] }),
      ),
    );
    expect(answers).toEqual(
      [3, 0, 2].map((index) => ({
        model_name: 'table',
        model_version: '1',
        outputs: [tensor('row', 'FP32', [1, 2], [2 * index, 2 * index + 1])],
      })),
    );
    expect(runtime.tensors.stats).toMatchObject({ numSucceeded: 3, numRows: 3 });
    expect(await get(target, '/v2/models/table/stats')).toMatchObject({
      model_stats: [{ inference_count: 3 }],
    });
  });

  it('takes texts and any bytes, in batches too', async () => {
    const runtime = await tensorRuntime('texts', pairGraph(TensorProto_DataType.STRING));
    const target = await serving(runtime);
    const rows = [
      ['é', ''],
      ['a\0b', 'long '.repeat(1000)],
      ['x', 'y'],
    ];
    const answers = await Promise.all(
      rows.map((row) => infer(target, 'texts', { inputs: [tensor('x', 'BYTES', [1, 2], row)] })),
    );
    expect(answers).toEqual(
      rows.map((row) => expect.objectContaining({ outputs: [tensor('y', 'BYTES', [1, 2], row)] })),
    );
    const both = await infer(target, 'texts', {
      inputs: [tensor('x', 'BYTES', [3, 2], rows.flat())],
    });
    expect(both).toMatchObject({ outputs: [tensor('y', 'BYTES', [3, 2], rows.flat())] });
  });

  it('takes bfloat16 as raw bytes', async () => {
    const target = await serving(
      await tensorRuntime('halves', pairGraph(TensorProto_DataType.BFLOAT16)),
    );
    const values = Buffer.from(Uint16Array.of(0x3f80, 0xc000).buffer);
    const head = Buffer.from(
      JSON.stringify({
        parameters: { binary_data_output: true },
        inputs: [
          { name: 'x', datatype: 'BF16', shape: [1, 2], parameters: { binary_data_size: 4 } },
        ],
      }),
    );
    const response = await fetch(`${target.url}/v2/models/halves/infer`, {
      method: 'POST',
      body: Buffer.concat([head, values]),
      headers: { 'inference-header-content-length': String(head.length) },
    });
    const body = Buffer.from(await response.arrayBuffer());
    expect(response.status).toBe(200);
    expect(body.subarray(Number(response.headers.get('inference-header-content-length')))).toEqual(
      values,
    );
  });

  it('refuses what its graph does not take, and says what it does', async () => {
    const target = await serving(await tensorRuntime('table', tableGraph()));
    const index = (shape: number[], ...data: number[]) => ({
      inputs: [tensor('index', 'INT64', shape, data)],
    });
    const refused = await Promise.all([
      refusal(target, 'table', { inputs: [] }),
      refusal(target, 'table', { inputs: [tensor('index', 'FP32', [1], [1])] }),
      refusal(target, 'table', index([1, 1], 1)),
      refusal(target, 'table', index([9], ...Array.from({ length: 9 }, () => 1))),
      refusal(target, 'table', index([0])),
      refusal(target, 'table', index([2 ** 53 - 1], 1)),
      refusal(target, 'table', index([4], 4, 4, 4, 4)),
      refusal(target, 'table', { ...index([1], 1), outputs: [{ name: 'rows' }] }),
      refusal(target, 'table', { ...index([1], 1), parameters: { priority: 'first' } }),
    ]);
    expect(refused).toEqual([
      'The input "index" is missing.',
      'The input "index" is FP32; the model takes INT64.',
      'The input "index" has shape [1, 1]; the model takes [-1].',
      'The request has 9 rows; a batch has 8 at most.',
      'The input "index" has a dimension that is not a whole number from 1.',
      'Tensor `index`: its shape has 9007199254740991 elements, but its data 1.',
      expect.stringMatching(/^The model can't compute this: .*out of data bounds/),
      'The model has no output "rows"; it has row.',
      '`priority`: expected a whole number.',
    ]);
    const after = await infer(target, 'table', index([1], 1));
    expect(after).toMatchObject({ outputs: [{ data: [2, 3] }] });
  });

  it('generates no text', async () => {
    const target = await serving(await tensorRuntime('table', tableGraph()));
    const response = await post(target, '/v2/models/table/generate', { text_input: 'Hi' });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      error: 'The model `table` takes and gives tensors (/v2/models/.../infer).',
    });
  });
});

describe('text encoders', () => {
  it('give vectors', async () => {
    const target = await serving(await encoders.encoder('bert', 'bert'));
    const { texts, vectors } = await encoderReference('bert');
    const dim = vectors[0]?.length ?? 0;
    const body = {
      inputs: [tensor('text_input', 'BYTES', [texts.length], texts)],
      parameters: { truncate: true },
    };
    const { outputs } = (await infer(target, 'bert', body)) as {
      outputs: { name: string; shape: number[]; data: number[] }[];
    };
    expect(outputs).toMatchObject([{ name: 'embedding', shape: [texts.length, dim] }]);
    for (const [at, value] of vectors.flat().entries()) {
      expect(outputs[0]?.data[at]).toBeCloseTo(value, 4);
    }
    expect(await get(target, '/v2/models/bert')).toMatchObject({
      outputs: [{ name: 'embedding', datatype: 'FP32', shape: [-1, dim] }],
    });
    expect(await refusal(target, 'bert', { inputs: [tensor('text', 'BYTES', [1], ['a'])] })).toBe(
      'Tensor `text`: the model has no such input.',
    );
    const many = Array.from({ length: 2049 }, () => 'a');
    expect(
      await refusal(target, 'bert', { inputs: [tensor('text_input', 'BYTES', [2049], many)] }),
    ).toContain('2049 texts; a request has 2048 at most');
  });

  it('that score pairs give scores', async () => {
    const target = await serving(await encoders.encoder('reranker', 'bert-reranker'));
    const { query, documents, scores } = await encoderReference('bert-reranker');
    const ask = (queries: string[]) => ({
      inputs: [
        tensor('query', 'BYTES', [queries.length], queries),
        tensor('document', 'BYTES', [documents.length], documents),
      ],
    });
    const { outputs } = (await infer(target, 'reranker', ask([query]))) as {
      outputs: { name: string; data: number[] }[];
    };
    for (const [at, value] of scores.entries()) expect(outputs[0]?.data[at]).toBeCloseTo(value, 4);
    expect(await infer(target, 'reranker', ask(documents.map(() => query)))).toMatchObject({
      outputs,
    });
    expect(await refusal(target, 'reranker', ask([query, query]))).toContain('expected one query');
  });
});

it('a model that generates text gives vectors where these are all that is wanted', async () => {
  const target = await server();
  const inputs = [tensor('text_input', 'BYTES', [2], ['Hi', 'Ho'])];
  const answer = await infer(target, MODEL, { inputs, outputs: [{ name: 'embedding' }] });
  expect(answer).toMatchObject({ outputs: [{ name: 'embedding', shape: [2, 4] }] });
  expect(target.engine.requests).toHaveLength(2);
  expect(target.engine.requests[0]?.readout).toEqual({ kind: 'hidden' });
  expect(fakeReading(Int32Array.of(1), { kind: 'hidden' })).toHaveLength(4);
  const mixed = { inputs, outputs: [{ name: 'embedding' }, { name: 'text_output' }] };
  expect(await refusal(target, MODEL, mixed)).toBe('The model has no output `embedding`.');
});
