/** Frames that a client of the port for gRPC may send, and hold, beside well-formed calls. */
import { once } from 'node:events';
import {
  connect as connectHttp2,
  type ClientHttp2Session,
  type ClientHttp2Stream,
} from 'node:http2';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { create, toBinary } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { afterEach, expect, test } from 'vitest';
import { Health } from '../../src/grpc/proto/health_pb.ts';
import {
  GRPCInferenceService,
  ModelInferRequestSchema,
} from '../../src/grpc/proto/inference_pb.ts';
import {
  ServerReflection,
  ServerReflectionRequestSchema,
} from '../../src/grpc/proto/reflection_pb.ts';
import { pathOf } from '../../src/grpc/service.ts';
import { LIMITS } from '../../src/limits.ts';
import { ApiKeys, unnamedKeys } from '../../src/server/auth/api-keys.ts';
import { BodyBudget } from '../../src/server/http/body-budget.ts';
import { begunMessage, callHead, FRAME, frame, PREFACE } from '../support/http2-frames.ts';
import { babbles } from '../server/support/test-server.ts';
import { newClient, unary, useGrpcServers } from './support/grpc-client.ts';
import { textRequest } from './support/requests.ts';

const server = useGrpcServers();
const methods = GRPCInferenceService.method;
const UNARY = pathOf(methods.modelInfer);
const STREAM = pathOf(methods.modelStreamInfer);

const sessions: ClientHttp2Session[] = [];
afterEach(() => {
  for (const session of sessions.splice(0)) session.destroy();
});

function openSession(port: number): ClientHttp2Session {
  const opened = connectHttp2(`http://127.0.0.1:${port}`);
  opened.on('error', () => {});
  sessions.push(opened);
  return opened;
}

interface RawCall {
  readonly stream: ClientHttp2Stream;
  /** `grpc-status`, wherever it comes; null where the stream ends without one. */
  readonly status: Promise<number | null>;
}

function call(from: ClientHttp2Session, path: string, headers = {}): RawCall {
  const stream = from.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  stream.on('error', () => {}).resume();
  return {
    stream,
    status: new Promise((resolve) => {
      const note = ({ 'grpc-status': code }: Readonly<Record<string, unknown>>): void => {
        if (code !== undefined) resolve(Number(code));
      };
      stream
        .on('response', note)
        .on('trailers', note)
        .on('close', () => resolve(null));
    }),
  };
}

test('what is no call is refused, and so is a method that there is not', async () => {
  const { grpc } = await server();
  const from = openSession(grpc.port);
  expect(await call(from, '/nothing/There').status).toBe(status.UNIMPLEMENTED);
  const page = from.request({ ':path': '/' });
  const [headers] = (await once(page, 'response')) as [Readonly<Record<string, unknown>>];
  expect(headers[':status']).toBe(415);
});

test.each([
  ['in an unknown way', { 'grpc-encoding': 'zstd' }, Buffer.from([1, 0, 0, 0, 1, 0]), 12],
  ['badly', { 'grpc-encoding': 'gzip' }, Buffer.from([1, 0, 0, 0, 1, 0]), 3],
  ['with another flag', {}, Buffer.from([2, 0, 0, 0, 1, 0]), 3],
  ['too short', {}, begunMessage(10, 3), 3],
  ['not at all', {}, Buffer.alloc(0), 3],
  ['twice', {}, Buffer.concat([begunMessage(0, 0), begunMessage(0, 0)]), 3],
])('a message that is packed %s is refused', async (_, headers, bytes, code) => {
  const { grpc } = await server();
  const { stream, status: ended } = call(openSession(grpc.port), UNARY, headers);
  stream.end(bytes);
  expect(await ended).toBe(code);
});

test('a message may come in any pieces, and many in one', async () => {
  const { grpc, client } = await server();
  const ready = begunMessage(0, 0);
  const { stream, status: ended } = call(openSession(grpc.port), pathOf(Health.method.check));
  for (const byte of ready) {
    stream.write(Buffer.from([byte]));
    await unary(client, methods.serverLive, {});
  }
  stream.end();
  expect(await ended).toBe(status.OK);
});

test('messages that have only begun are charged to their client, also in streams', async () => {
  const keys = new ApiKeys(unnamedKeys(['a', 'b']));
  const { grpc, client } = await server({ keys, bodyBudget: new BodyBudget(100_000, 50_000) });
  const part = begunMessage(LIMITS.bodyBytes, 30_000);
  const from = openSession(grpc.port);
  const first = call(from, STREAM, { 'x-api-key': 'a' });
  first.stream.write(part);
  // The charge of the first is seen by what the second gets.
  const begin = async (): Promise<number | null> => {
    const second = call(from, STREAM, { 'x-api-key': 'a' });
    second.stream.write(part);
    return second.status;
  };
  expect(await begin()).toBe(status.RESOURCE_EXHAUSTED);
  const infer = (key: string) =>
    unary(client, methods.modelInfer, textRequest('Hi'), { metadata: { 'x-api-key': key } });
  expect(await infer('b')).toBeDefined();
  first.stream.close();
  await first.status;
  await expect
    .poll(() =>
      infer('a')
        .then(() => true)
        .catch(() => false),
    )
    .toBe(true);
  // All of it was given back.
  const again = call(from, STREAM, { 'x-api-key': 'a' });
  again.stream.write(part);
  expect(await begin()).toBe(status.RESOURCE_EXHAUSTED);
  expect(again.stream.closed).toBe(false);
});

/** A message for reflection, with a host of that many characters. */
function reflection(length: number): Buffer {
  const message = toBinary(
    ServerReflectionRequestSchema,
    create(ServerReflectionRequestSchema, { host: 'h'.repeat(length) }),
  );
  return Buffer.concat([begunMessage(message.length, 0), message]);
}

const REFLECTION = pathOf(ServerReflection.method.serverReflectionInfo);

test('of messages that come without a pause, those that were taken are charged no longer', async () => {
  const { grpc } = await server({ bodyBudget: new BodyBudget(60_000, 40_000) });
  const { stream, status: ended } = call(openSession(grpc.port), REFLECTION);
  const message = reflection(10_000);
  const all = Buffer.concat(Array<Buffer>(30).fill(message));
  // Each piece has the end of a message and the beginning of the next.
  for (let at = 0; at < all.length; at += message.length) {
    stream.write(all.subarray(Math.max(0, at - 5000), at + message.length - 5000));
    await sleep(2);
  }
  stream.end(all.subarray(all.length - 5000));
  expect(await ended).toBe(status.OK);
});

test('also a later message of a stream has its time to arrive', async () => {
  const { grpc } = await server({ receiveMs: 100 });
  const { stream, status: ended } = call(openSession(grpc.port), REFLECTION);
  stream.write(reflection(10).subarray(0, 7));
  await sleep(20);
  stream.write(reflection(10).subarray(7));
  await once(stream, 'response');
  stream.write(reflection(10).subarray(0, 7));
  expect(await ended).toBe(status.DEADLINE_EXCEEDED);
});

test('a message of a stream has its time to arrive; a silent stream has all', async () => {
  const { grpc } = await server({ receiveMs: 100 });
  const from = openSession(grpc.port);
  const silent = call(from, STREAM);
  const slow = call(from, STREAM);
  slow.stream.write(begunMessage(100, 10));
  expect(await slow.status).toBe(status.DEADLINE_EXCEEDED);
  expect(silent.stream.closed).toBe(false);
});

test('without a key nothing large is taken', async () => {
  const keys = new ApiKeys(unnamedKeys(['a']));
  const { grpc } = await server({ keys, publicHealth: true });
  const { stream, status: ended } = call(openSession(grpc.port), pathOf(Health.method.check));
  stream.write(begunMessage(100_000, 10));
  expect(await ended).toBe(status.RESOURCE_EXHAUSTED);
});

test('calls whose messages wait for earlier ones do not end their connection', async () => {
  const { grpc, engine } = await server({
    script: babbles,
    engine: { heldAfter: 1 },
    maxQueue: 1024,
  });
  const from = openSession(grpc.port);
  const request = toBinary(
    ModelInferRequestSchema,
    create(ModelInferRequestSchema, textRequest('Hi', { max_tokens: 10 })),
  );
  const busy = Buffer.concat(
    Array<Buffer>(LIMITS.requestsPerSocket).fill(
      Buffer.concat([begunMessage(request.length, 0), request]),
    ),
  );
  // As much as may arrive unread, several times what frames without data may have.
  const waiting = begunMessage(1_000_000, 60_000);
  for (let index = 0; index < 12; index++) {
    const { stream } = call(from, STREAM);
    stream.write(busy);
    stream.write(waiting);
  }
  await expect.poll(() => engine.running).toBeGreaterThan(0);
  await sleep(600);
  expect(from.closed).toBe(false);
});

/** Resolves also for a connection that ends with an error. */
function closeOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()));
}

/** The beginning of a connection, and a call whose message does not come. */
async function rawConnection(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {}).resume();
  await once(socket, 'connect');
  socket.write(PREFACE);
  socket.write(frame(FRAME.settings, 0));
  return socket;
}

test.each([
  ['WINDOW_UPDATE', frame(FRAME.window, 0, Buffer.from([0, 0, 0, 1]))],
  ['PRIORITY', frame(FRAME.priority, 1, Buffer.alloc(5))],
  ['unknown type', frame(99, 0)],
])('a flood of frames of %s ends its connection', async (_, one) => {
  const { grpc, client } = await server();
  const socket = await rawConnection(grpc.port);
  const many = Buffer.concat(Array<Buffer>(Math.ceil(65_536 / one.length)).fill(one));
  const closed = closeOf(socket);
  const flood = setInterval(() => socket.write(many), 10);
  await closed;
  clearInterval(flood);
  expect(await unary(client, methods.serverLive, {})).toMatchObject({ live: true });
});

test('a flood of tiny pieces of data ends its connection', async () => {
  const { grpc, client } = await server();
  const socket = await rawConnection(grpc.port);
  socket.write(
    Buffer.concat([callHead(UNARY, 1), frame(FRAME.data, 1, begunMessage(8_000_000, 0))]),
  );
  const many = Buffer.concat(Array<Buffer>(1000).fill(frame(FRAME.data, 1, Buffer.from('x'))));
  const closed = closeOf(socket);
  const flood = setInterval(() => socket.write(many), 1);
  await closed;
  clearInterval(flood);
  expect(await unary(client, methods.serverLive, {})).toMatchObject({ live: true });
});

test('calls that are reset at once end their connection, and the next one has to wait', async () => {
  const { grpc, client } = await server();
  const socket = await rawConnection(grpc.port);
  const closed = closeOf(socket);
  const reset = (index: number): Buffer =>
    Buffer.concat([
      callHead(UNARY, 1 + 2 * index),
      frame(FRAME.reset, 1 + 2 * index, Buffer.from([0, 0, 0, 8])),
    ]);
  for (let index = 0; index <= LIMITS.resetCalls; index++) socket.write(reset(index));
  await closed;
  const endedAt = performance.now();
  expect(await unary(client, methods.serverLive, {})).toMatchObject({ live: true });
  expect(performance.now() - endedAt).toBeGreaterThan(LIMITS.costlyPauseMs - 100);
});

test('when all places are taken, the longest silent connection makes room', async () => {
  const { grpc } = await server({ maxConnections: 2 });
  const silent = [await rawConnection(grpc.port), connect(grpc.port, '127.0.0.1')];
  const closed = closeOf(silent[0] as Socket);
  const late = newClient(grpc.port);
  expect(await unary(late, methods.serverLive, {})).toMatchObject({ live: true });
  await closed;
  late.close();
  for (const socket of silent) socket.destroy();
});
