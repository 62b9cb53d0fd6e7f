/** Access over gRPC: keys, how much may be sent, and how the port closes. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import {
  Client,
  compressionAlgorithms,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { describe, expect, test } from 'vitest';
import { pathOf } from '../../src/grpc/service.ts';
import { Health } from '../../src/grpc/proto/health_pb.ts';
import { GRPCInferenceService } from '../../src/grpc/proto/inference_pb.ts';
import { ServerReflection } from '../../src/grpc/proto/reflection_pb.ts';
import { ApiKeys, digestOf, unnamedKeys } from '../../src/server/auth/api-keys.ts';
import { readTls } from '../../src/server/http/tls.ts';
import { babbles, MODEL, says } from '../server/support/test-server.ts';
import {
  duplex,
  newClient,
  rawUnary,
  serverStream,
  statusOf,
  unary,
  useGrpcServers,
} from './support/grpc-client.ts';
import { textOf, textRequest } from './support/requests.ts';

const server = useGrpcServers();
const methods = GRPCInferenceService.method;
const TLS = new URL('../support/tls/', import.meta.url).pathname;

test('probes and descriptions need a key, unless health is public', async () => {
  const keys = new ApiKeys(unnamedKeys(['user']));
  const { client } = await server({ keys });
  const services = (metadata: Record<string, string>) => {
    const reflection = duplex(client, ServerReflection.method.serverReflectionInfo, { metadata });
    reflection.send({ messageRequest: { case: 'listServices', value: '' } });
    reflection.end();
    return reflection.all();
  };
  const calls = [
    unary(client, Health.method.check, {}),
    unary(client, methods.serverLive, {}),
    services({}),
  ];
  for (const refused of await Promise.all(calls.map((call) => statusOf(call)))) {
    expect(refused).toMatchObject({ code: status.UNAUTHENTICATED });
  }
  const metadata = { 'x-api-key': 'user' };
  expect(await unary(client, Health.method.check, {}, { metadata })).toMatchObject({ status: 1 });
  expect(await services(metadata)).toHaveLength(1);
});

test('keys as on HTTP; probes and descriptions need none where health is public', async () => {
  const keys = new ApiKeys(unnamedKeys(['user']), digestOf('admin'));
  const { client, engine } = await server({ control: 'explicit', keys, publicHealth: true });
  expect(await unary(client, methods.serverReady, {})).toMatchObject({ ready: true });
  expect(await unary(client, Health.method.check, {})).toMatchObject({ status: 1 });
  const reflection = duplex(client, ServerReflection.method.serverReflectionInfo);
  reflection.send({ messageRequest: { case: 'listServices', value: '' } });
  await reflection.next();
  reflection.end();
  const infer = (metadata: Record<string, string>) =>
    unary(client, methods.modelInfer, textRequest('Hi'), { metadata });
  expect(await statusOf(infer({}))).toMatchObject({ code: status.UNAUTHENTICATED });
  expect(await statusOf(infer({ 'x-api-key': 'other' }))).toMatchObject({
    code: status.UNAUTHENTICATED,
  });
  expect(await statusOf(unary(client, methods.repositoryIndex, {}))).toMatchObject({
    code: status.UNAUTHENTICATED,
  });
  const stream = duplex(client, methods.modelStreamInfer);
  expect(await statusOf(stream.all())).toMatchObject({ code: status.UNAUTHENTICATED });
  expect(engine.requests).toEqual([]);
  await infer({ 'x-api-key': 'user' });
  await infer({ authorization: 'Bearer user' });
  const unload = (metadata: Record<string, string>) =>
    unary(client, methods.repositoryModelUnload, { modelName: MODEL }, { metadata });
  expect(await statusOf(unload({ 'x-api-key': 'user' }))).toMatchObject({
    code: status.PERMISSION_DENIED,
  });
  expect(await unload({ 'x-api-key': 'admin' })).toBeDefined();
});

describe('only the operator loads models, by the rule of HTTP', () => {
  const unload = (client: Client, metadata: Record<string, string> = {}) =>
    unary(client, methods.repositoryModelUnload, { modelName: MODEL }, { metadata });

  test("with users' keys alone nobody is", async () => {
    const keys = new ApiKeys(unnamedKeys(['user']));
    const { client } = await server({ control: 'explicit', keys });
    expect(await statusOf(unload(client, { 'x-api-key': 'user' }))).toMatchObject({
      code: status.PERMISSION_DENIED,
      details: expect.stringContaining('--admin-api-key'),
    });
  });

  test.each([{ 'x-forwarded-for': '198.51.100.7' }, { origin: 'https://evil.example' }])(
    'without keys not with %j',
    async (metadata) => {
      const { client } = await server({ control: 'explicit' });
      expect(await statusOf(unload(client, metadata))).toMatchObject({
        code: status.PERMISSION_DENIED,
      });
    },
  );

  test('without keys whoever is on this machine, whatever address the server listens on', async () => {
    const { client } = await server({ control: 'explicit', config: { host: '0.0.0.0' } });
    expect(await unload(client)).toBeDefined();
  });
});

test('requests and tokens are taken from the rate of their key, those of a stream too', async () => {
  const { client, engine } = await server({
    keys: new ApiKeys(unnamedKeys(['a', 'b'])),
    rates: { requests: 3 },
  });
  const infer = (key: string) =>
    unary(client, methods.modelInfer, textRequest('Hi', { max_tokens: 2 }), {
      metadata: { 'x-api-key': key },
    });
  await infer('a');
  const stream = duplex(client, methods.modelStreamInfer, { metadata: { 'x-api-key': 'a' } });
  for (const id of ['1', '2', '3']) stream.send(textRequest('Hi', { max_tokens: 2 }, { id }));
  stream.end();
  const refused = (await stream.all()).filter(({ errorMessage }) => errorMessage !== '');
  expect(refused).toHaveLength(1);
  expect(await statusOf(infer('a'))).toMatchObject({ code: status.RESOURCE_EXHAUSTED });
  expect(engine.requests).toHaveLength(3);
  await infer('b');
});

test('a key holds no more of the queue than its share', async () => {
  const { client, engine } = await server({
    script: babbles,
    keys: new ApiKeys(unnamedKeys(['a', 'b'])),
    maxModelLen: 100_000,
    concurrency: 1,
    maxQueue: 8,
  });
  const long = { max_tokens: 90_000 };
  const greedy = duplex(client, methods.modelStreamInfer, { metadata: { 'x-api-key': 'a' } });
  for (let index = 0; index < 32; index++) {
    greedy.send(textRequest('Hi', long, { id: `${index}`, stream: true }));
  }
  await greedy.next();
  await expect.poll(() => engine.running).toBe(1);
  const other = unary(client, methods.modelInfer, textRequest('Hi', { max_tokens: 2 }), {
    metadata: { 'x-api-key': 'b' },
  });
  // By now it is in the queue, or refused.
  await unary(client, methods.serverLive, {}, { metadata: { 'x-api-key': 'b' } });
  greedy.call.cancel();
  expect(textOf((await other).rawOutputContents)).toBe('xx');
});

test('messages beyond --max-body are not taken', async () => {
  const { client, engine } = await server({ config: { maxBodyBytes: 10_000 } });
  const call = unary(client, methods.modelInfer, textRequest('a'.repeat(20_000)));
  expect(await statusOf(call)).toMatchObject({ code: status.RESOURCE_EXHAUSTED });
  expect(engine.requests).toEqual([]);
});

/** A field of bytes of any number. */
function field(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}

test.each([
  ['is cut short', Buffer.from([10, 200, 1, 65]), /can't be read/],
  [
    'is noise',
    Buffer.from('\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff', 'latin1'),
    /can't be read/,
  ],
  ['has groups within each other', Buffer.alloc(100_000, 0x0b), /groups/],
  [
    'has a million numbers',
    field(5, field(5, field(1, Buffer.alloc(1_000_000, 1)))),
    /262144 values/,
  ],
  ['has a million shapes', field(5, field(3, Buffer.alloc(1_000_000, 1))), /262144 values/],
  [
    'has a million tensors',
    Buffer.concat(Array<Buffer>(50_000).fill(field(5, Buffer.alloc(0)))),
    /32768 messages/,
  ],
  [
    'has a million texts',
    Buffer.concat(Array<Buffer>(100_000).fill(field(7, Buffer.alloc(0)))),
    /65536 texts/,
  ],
  [
    'has a million parameters',
    Buffer.concat(Array<Buffer>(50_000).fill(field(4, Buffer.alloc(0)))),
    /8256 parameters/,
  ],
  ['has a million unknown fields', Buffer.alloc(600_000, Buffer.from([0x78, 1])), /262144 values/],
])('a message that %s is refused', async (_, message, details) => {
  const { client, engine } = await server();
  const call = rawUnary(client, pathOf(methods.modelInfer), message);
  expect(await statusOf(call)).toMatchObject({
    code: status.INVALID_ARGUMENT,
    details: expect.stringMatching(details),
  });
  expect(engine.requests).toEqual([]);
});

/** A call whose message does not come. */
function silent(client: Client, metadata: Record<string, string> = {}): Promise<ServiceError> {
  const bytes = (buffer: Buffer) => buffer;
  const values = new Metadata();
  for (const [name, value] of Object.entries(metadata)) values.set(name, value);
  return new Promise((resolve) => {
    const call = client.makeClientStreamRequest(
      pathOf(methods.modelInfer),
      bytes,
      bytes,
      values,
      (error) => {
        if (error !== null) resolve(error);
      },
    );
    call.on('error', () => {});
  });
}

test('a message has its time to arrive', async () => {
  const { client } = await server({ receiveMs: 100 });
  expect(await silent(client)).toMatchObject({
    code: status.DEADLINE_EXCEEDED,
    details: expect.stringContaining('too long to arrive'),
  });
  expect(await unary(client, methods.modelInfer, textRequest('Hi'))).toBeDefined();
});

test('messages that are small only while they are packed', async () => {
  const { client, engine } = await server({ config: { maxBodyBytes: 100_000 } });
  const packing = new Client(
    `127.0.0.1:${client.getChannel().getTarget().split(':').at(-1)}`,
    credentials.createInsecure(),
    {
      'grpc.default_compression_algorithm': compressionAlgorithms.gzip,
    },
  );
  const call = unary(packing, methods.modelInfer, textRequest('a'.repeat(5_000_000)));
  expect(await statusOf(call)).toMatchObject({ code: status.RESOURCE_EXHAUSTED });
  packing.close();
  expect(engine.requests).toEqual([]);
});

test('TLS, and a new certificate', async () => {
  const files = (name: string) => ({
    cert: `${TLS}${name}-cert.pem`,
    key: `${TLS}${name}-key.pem`,
  });
  const tls = await readTls(files('first'));
  const ca = await readFile(`${TLS}first-cert.pem`, 'utf8');
  const { client, grpc } = await server({ tls, ca });
  expect(await unary(client, methods.serverLive, {})).toMatchObject({ live: true });
  grpc.setTls(await readTls(files('second')));
  // Open connections go on; new ones get the new one.
  expect(await unary(client, methods.serverLive, {})).toMatchObject({ live: true });
  const renewed = newClient(grpc.port, await readFile(`${TLS}second-cert.pem`, 'utf8'));
  expect(await unary(renewed, methods.serverLive, {})).toMatchObject({ live: true });
  renewed.close();
});

test('connections of an address', async () => {
  const { client, grpc } = await server({ maxConnectionsPerAddress: 1 });
  expect(await unary(client, methods.serverLive, {})).toMatchObject({ live: true });
  const socket = connect(grpc.port, '127.0.0.1').on('error', () => {});
  await once(socket, 'close');
  expect(await unary(client, methods.serverLive, {})).toMatchObject({ live: true });
});

test('health: checks, watches, unknown services', async () => {
  const target = await server();
  const { client } = target;
  expect(
    await unary(client, Health.method.check, { service: GRPCInferenceService.typeName }),
  ).toMatchObject({ status: 1 });
  expect(await statusOf(unary(client, Health.method.check, { service: 'x' }))).toMatchObject({
    code: status.NOT_FOUND,
  });
  // An error text is cut after 200: between the halves of this character.
  const cut = `${'a'.repeat(199)}\u{1F600}`;
  expect(await statusOf(unary(client, Health.method.check, { service: cut }))).toMatchObject({
    code: status.NOT_FOUND,
  });
  const unknown = serverStream(client, Health.method.watch, { service: 'x' });
  expect(await unknown.next()).toMatchObject({ status: 3 });
  unknown.call.cancel();
  const watch = serverStream(client, Health.method.watch, {});
  expect(await watch.next()).toMatchObject({ status: 1 });
  target.startDraining();
  expect(await watch.next()).toMatchObject({ status: 2 });
});

test('closing waits for what is at work, and ends idle streams', async () => {
  const { client, grpc, engine } = await server({
    script: says('Hello there!'),
    engine: { heldAfter: 1 },
  });
  const idle = duplex(client, methods.modelStreamInfer);
  const watch = serverStream(client, Health.method.watch, {});
  await watch.next();
  const busy = duplex(client, methods.modelStreamInfer);
  busy.send(textRequest('Hi', {}, { stream: true }));
  await busy.next();
  const closed = grpc.close(60_000);
  engine.release();
  const pieces = (await busy.all()).map(({ inferResponse }) =>
    textOf(inferResponse?.rawOutputContents ?? []),
  );
  expect(pieces.join('')).toBe('ello there!');
  expect(await idle.all()).toEqual([]);
  expect(await watch.all()).toEqual([]);
  await closed;
  expect(engine.finished).toBe(1);
});

test('closing cuts what takes too long', async () => {
  const { client, grpc, engine } = await server({ script: babbles, maxModelLen: 1_000_000 });
  const stream = duplex(client, methods.modelStreamInfer);
  stream.send(textRequest('Hi', { max_tokens: 900_000 }, { stream: true }));
  await stream.next();
  const all = statusOf(stream.all());
  await grpc.close(50);
  expect([status.CANCELLED, status.UNAVAILABLE, status.INTERNAL]).toContain((await all).code);
  await expect.poll(() => engine.running).toBe(0);
});
