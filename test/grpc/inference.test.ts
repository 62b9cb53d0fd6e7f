/** The inference service over gRPC: metadata, infer, streams, statistics, the repository. */
import { status } from '@grpc/grpc-js';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import { GRPCInferenceService } from '../../src/grpc/proto/inference_pb.ts';
import { babbles, MODEL, says } from '../server/support/test-server.ts';
import { modelDefinition } from '../front/registry/fake-loader.ts';
import { colorRuntime, tableGraph, tensorRuntime } from '../server/support/stateless-models.ts';
import { duplex, statusOf, unary, useGrpcServers } from './support/grpc-client.ts';
import { bytesInput, flagInput, textOf, textRequest } from './support/requests.ts';

const server = useGrpcServers();
const methods = GRPCInferenceService.method;

test('server and model describe themselves', async () => {
  const { client } = await server();
  expect(await unary(client, methods.serverLive, {})).toMatchObject({ live: true });
  expect(await unary(client, methods.serverReady, {})).toMatchObject({ ready: true });
  expect(await unary(client, methods.modelReady, { name: MODEL })).toMatchObject({ ready: true });
  expect(await unary(client, methods.serverMetadata, {})).toMatchObject({
    name: 'chairlift',
    version: '1.2.3',
  });
  const metadata = await unary(client, methods.modelMetadata, { name: MODEL, version: '1' });
  expect(metadata).toMatchObject({ name: MODEL, versions: ['1'] });
  expect(metadata.inputs[0]).toMatchObject({ name: 'text_input', datatype: 'BYTES', shape: [-1n] });
  const { config } = await unary(client, methods.modelConfig, { name: MODEL });
  expect(config?.input[0]).toMatchObject({ name: 'text_input', dataType: 13, dims: [-1n] });
  expect(config?.modelTransactionPolicy?.decoupled).toBe(true);
});

test('not ready is an answer, not an error', async () => {
  const { client } = await server({ state: 'failed' });
  expect(await unary(client, methods.serverLive, {})).toMatchObject({ live: false });
  expect(await unary(client, methods.serverReady, {})).toMatchObject({ ready: false });
  expect(await unary(client, methods.modelReady, { name: MODEL })).toMatchObject({ ready: false });
});

test('infer, by contents and by raw contents', async () => {
  const { client, engine } = await server({ script: says('Hello!') });
  const request = textRequest('Hi', { max_tokens: 3, temperature: 0.5 }, { id: 'a' });
  const answer = await unary(client, methods.modelInfer, request);
  expect(answer).toMatchObject({ modelName: MODEL, modelVersion: '1', id: 'a' });
  expect(answer.outputs).toMatchObject([{ name: 'text_output', datatype: 'BYTES', shape: [1n] }]);
  expect(textOf(answer.rawOutputContents)).toBe('Hel');
  expect(engine.requests[0]).toMatchObject({ maxTokens: 3, sampling: { temperature: 0.5 } });
  const raw = await unary(client, methods.modelInfer, {
    modelName: MODEL,
    inputs: [{ name: 'text_input', datatype: 'BYTES', shape: [1n] }],
    rawInputContents: [Uint8Array.of(2, 0, 0, 0, 72, 105)],
  });
  expect(textOf(raw.rawOutputContents)).toBe('HiHello!');
});

test('a stream: each request in pieces, and what fails does not end the others', async () => {
  const { client } = await server({ script: says('Hello!') });
  const stream = duplex(client, methods.modelStreamInfer);
  stream.send(textRequest('Hi', {}, { id: 'a', stream: true }));
  stream.send(textRequest('Hi', { temperature: 9 }, { id: 'b', stream: true }));
  stream.send(textRequest('Hi', {}, { id: 'c' }));
  stream.end();
  const messages = await stream.all();
  const of = (id: string) => messages.filter((message) => message.inferResponse?.id === id);
  const pieces = of('a').map(({ inferResponse }) => textOf(inferResponse?.rawOutputContents ?? []));
  expect(pieces.length).toBeGreaterThan(2);
  expect(pieces.join('')).toBe('Hello!');
  const finals = of('a').map(
    ({ inferResponse }) =>
      inferResponse?.parameters['triton_final_response']?.parameterChoice.value,
  );
  expect(finals).toEqual([...Array<boolean>(pieces.length - 1).fill(false), true]);
  expect(of('b').map(({ errorMessage }) => errorMessage)).toEqual([
    expect.stringContaining('temperature'),
  ]);
  expect(
    of('c').map(({ inferResponse }) => textOf(inferResponse?.rawOutputContents ?? [])),
  ).toEqual(['Hello!']);
});

test('more requests on a stream than may be at work: the others wait', async () => {
  const { client, engine } = await server({
    script: says('Hello!'),
    concurrency: 4,
    maxQueue: 64,
  });
  const stream = duplex(client, methods.modelStreamInfer);
  for (let index = 0; index < 200; index++) {
    stream.send(textRequest('Hi', {}, { id: `${index}`, stream: true }));
  }
  stream.end();
  const messages = await stream.all();
  expect(messages.filter(({ errorMessage }) => errorMessage !== '')).toEqual([]);
  expect(new Set(messages.map(({ inferResponse }) => inferResponse?.id)).size).toBe(200);
  expect(engine.finished).toBe(200);
});

test('cancellation frees the slot, of a call and of a stream', async () => {
  const { client, engine } = await server({ script: babbles, engine: { heldAfter: 1 } });
  const long = { max_tokens: 200 };
  const leave = new AbortController();
  const call = unary(client, methods.modelInfer, textRequest('Hi', long), { signal: leave.signal });
  await expect.poll(() => engine.running).toBe(1);
  leave.abort();
  expect(await statusOf(call)).toMatchObject({ code: status.CANCELLED });
  await expect.poll(() => engine.running).toBe(0);
  const stream = duplex(client, methods.modelStreamInfer);
  stream.send(textRequest('Hi', long, { stream: true }));
  stream.send(textRequest('Ho', long, { stream: true }));
  await stream.next();
  await expect.poll(() => engine.running).toBe(2);
  stream.call.cancel();
  await expect.poll(() => engine.running).toBe(0);
  expect(engine.aborted).toBe(3);
});

test('a deadline ends what is at work', async () => {
  const { client, engine } = await server({ script: babbles, engine: { heldAfter: 1 } });
  const long = { max_tokens: 200 };
  const deadline = Date.now() + 200;
  const call = unary(client, methods.modelInfer, textRequest('Hi', long), { deadline });
  expect(await statusOf(call)).toMatchObject({ code: status.DEADLINE_EXCEEDED });
  await expect.poll(() => engine.running).toBe(0);
  const own = unary(client, methods.modelInfer, textRequest('Hi', { ...long, timeout: 0.1 }));
  expect(await statusOf(own)).toMatchObject({ code: status.DEADLINE_EXCEEDED });
  const stream = duplex(client, methods.modelStreamInfer, { deadline: Date.now() + 200 });
  stream.send(textRequest('Hi', long, { stream: true }));
  expect(await statusOf(stream.all())).toMatchObject({ code: status.DEADLINE_EXCEEDED });
  await expect.poll(() => engine.running).toBe(0);
});

test('a client that does not read holds up its own stream alone', async () => {
  const { client, engine } = await server({ script: babbles, maxModelLen: 2_000_000 });
  const stream = duplex(client, methods.modelStreamInfer);
  stream.send(textRequest('Hi', { max_tokens: 1_000_000 }, { stream: true }));
  await stream.next();
  const before = engine.running;
  const answer = await unary(client, methods.modelInfer, textRequest('Hi', { max_tokens: 3 }));
  expect(textOf(answer.rawOutputContents)).toBe('xxx');
  expect(before).toBe(1);
  stream.call.cancel();
  await expect.poll(() => engine.running).toBe(0);
});

test('a full queue is told with the time to come back', async () => {
  const { client, engine } = await server({
    script: babbles,
    maxModelLen: 100_000,
    concurrency: 1,
    maxQueue: 1,
  });
  const stream = duplex(client, methods.modelStreamInfer);
  const long = { max_tokens: 90_000 };
  stream.send(textRequest('Hi', long, { stream: true }));
  stream.send(textRequest('Ho', long, { stream: true }));
  await stream.next();
  await expect.poll(() => engine.running).toBe(1);
  const refused = await statusOf(unary(client, methods.modelInfer, textRequest('Hu')));
  expect(refused.code).toBe(status.RESOURCE_EXHAUSTED);
  expect(Number(refused.metadata.get('grpc-retry-pushback-ms')[0])).toBeGreaterThanOrEqual(1000);
});

test('unknown models', async () => {
  const { client } = await server({ control: 'explicit' });
  const other = textRequest('Hi', {}, { modelVersion: '2' });
  const calls = [
    unary(client, methods.modelReady, { name: 'none' }),
    unary(client, methods.modelMetadata, { name: 'none' }),
    unary(client, methods.modelInfer, other),
    unary(client, methods.modelStatistics, { name: MODEL, version: '2' }),
    unary(client, methods.repositoryModelLoad, { modelName: 'none' }),
  ];
  // Watched from the start: one that is refused before its turn would be an error that nobody handles.
  for (const refused of await Promise.all(calls.map((call) => statusOf(call)))) {
    expect(refused).toMatchObject({ code: status.NOT_FOUND });
  }
});

test.each([
  ['a shape that lies', { ...bytesInput('text_input', 'a'), shape: [2n] }, /2 elements/],
  [
    'a huge shape',
    { ...bytesInput('text_input', 'a'), shape: [2n ** 62n] },
    /whole numbers|too large/,
  ],
  ['a negative shape', { ...bytesInput('text_input', 'a'), shape: [-1n] }, /whole numbers/],
  [
    'many dimensions',
    { ...bytesInput('text_input', 'a'), shape: Array<bigint>(9).fill(1n) },
    /dimensions/,
  ],
  ['no contents', { name: 'text_input', datatype: 'BYTES', shape: [1n] }, /no contents/],
  ['a long name', bytesInput('n'.repeat(513), 'a'), /more than 512 characters/],
  ['an unknown type', { ...bytesInput('text_input', 'a'), datatype: 'X' }, /no datatype/],
  ['numbers for texts', { ...flagInput('text_input', true) }, /type BYTES/],
])('INVALID_ARGUMENT for %s', async (_, input, details) => {
  const { client, engine } = await server();
  const call = unary(client, methods.modelInfer, { modelName: MODEL, inputs: [input] });
  expect(await statusOf(call)).toMatchObject({
    code: status.INVALID_ARGUMENT,
    details: expect.stringMatching(details),
  });
  expect(engine.requests).toEqual([]);
});

test('statistics and the repository', async () => {
  const { client } = await server({ control: 'explicit' });
  await unary(client, methods.modelInfer, textRequest('Hi'));
  const { modelStats } = await unary(client, methods.modelStatistics, {});
  expect(modelStats).toMatchObject([
    { name: MODEL, version: '1', inferenceCount: 1n, inferenceStats: { success: { count: 1n } } },
  ]);
  const ready = async () => (await unary(client, methods.repositoryIndex, { ready: true })).models;
  expect(await ready()).toMatchObject([{ name: MODEL, version: '1', state: 'READY' }]);
  await unary(client, methods.repositoryModelUnload, { modelName: MODEL });
  expect(await ready()).toEqual([]);
  expect(await statusOf(unary(client, methods.modelInfer, textRequest('Hi')))).toMatchObject({
    code: status.UNAVAILABLE,
  });
  await unary(client, methods.repositoryModelLoad, { modelName: MODEL });
  expect(await ready()).toHaveLength(1);
});

test('infer with the tensors of an ONNX model without state', async () => {
  const runtime = await tensorRuntime('table', tableGraph());
  const { client } = await server({
    models: [modelDefinition('table', {}, { preload: true })],
    runtimes: { table: runtime },
  });
  const metadata = await unary(client, methods.modelMetadata, { name: 'table' });
  expect(metadata).toMatchObject({
    platform: 'onnxruntime_onnx',
    inputs: [{ name: 'index', datatype: 'INT64', shape: [-1n] }],
  });
  const { config } = await unary(client, methods.modelConfig, { name: 'table' });
  expect(config).toMatchObject({ maxBatchSize: 8, output: [{ name: 'row', dims: [2n] }] });
  const index = { name: 'index', datatype: 'INT64', shape: [2n] };
  const typed = { ...index, contents: { int64Contents: [3n, 1n] } };
  const raw = new Uint8Array(BigInt64Array.of(3n, 1n).buffer);
  for (const request of [
    { modelName: 'table', inputs: [typed] },
    { modelName: 'table', inputs: [index], rawInputContents: [raw] },
  ]) {
    const { outputs, rawOutputContents } = await unary(client, methods.modelInfer, request);
    expect(outputs).toMatchObject([{ name: 'row', datatype: 'FP32', shape: [2n, 2n] }]);
    expect(new Float32Array(Uint8Array.from(rawOutputContents[0] ?? []).buffer)).toEqual(
      Float32Array.of(6, 7, 2, 3),
    );
  }
  const outside = { ...index, shape: [1n], contents: { int64Contents: [4n] } };
  expect(
    await statusOf(unary(client, methods.modelInfer, { modelName: 'table', inputs: [outside] })),
  ).toMatchObject({ code: status.INVALID_ARGUMENT, details: expect.stringContaining('bounds') });
});

test('calls are counted by method and code', async () => {
  const { client, context } = await server();
  await unary(client, methods.modelInfer, textRequest('Hi', { max_tokens: 1 }));
  await statusOf(unary(client, methods.modelInfer, { modelName: 'nobody' }));
  const page = await context.metrics.text();
  const counts = page.split('\n').filter((line) => line.startsWith('chairlift_grpc_calls_total{'));
  const method = 'method="/inference.GRPCInferenceService/ModelInfer"';
  expect(counts).toEqual([
    `chairlift_grpc_calls_total{${method},code="OK"} 1`,
    `chairlift_grpc_calls_total{${method},code="NOT_FOUND"} 1`,
  ]);
});

test('an image in one element, its labels out', async () => {
  const runtime = await colorRuntime('color');
  const { client } = await server({
    models: [modelDefinition('color', {}, { preload: true })],
    runtimes: { color: runtime },
  });
  const file = await sharp({
    create: { width: 9, height: 9, channels: 3, background: '#0f0' },
  })
    .jpeg()
    .toBuffer();
  const contents = { bytesContents: [file] };
  const answer = await unary(client, methods.modelInfer, {
    modelName: 'color',
    inputs: [{ name: 'pixels', datatype: 'BYTES', shape: [1n], contents }],
    parameters: { top_k: { parameterChoice: { case: 'int64Param', value: 1n } } },
  });
  expect(answer.outputs).toMatchObject([
    { name: 'label', datatype: 'BYTES', shape: [1n, 1n] },
    { name: 'score', datatype: 'FP32', shape: [1n, 1n] },
  ]);
  expect(textOf(answer.rawOutputContents)).toBe('green');
});
