/**
 * Every door of the server, by what is listed of them: each route of the API and each method of gRPC gets
 * each kind of abuse. A new one is attacked without another word here.
 */
import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DescMethod } from '@bufbuild/protobuf';
import { Health } from '../../../src/grpc/proto/health_pb.ts';
import { GRPCInferenceService } from '../../../src/grpc/proto/inference_pb.ts';
import { ServerReflection } from '../../../src/grpc/proto/reflection_pb.ts';
import type { Operation } from '../../../src/server/openapi/operation.ts';
import { OPERATIONS } from '../../../src/server/openapi/operations.ts';
import { begunMessage, callHead, FRAME, frame, PREFACE } from '../../support/http2-frames.ts';
import { type Attack, KEYS } from '../support/attack.ts';
import type { Client } from '../support/client.ts';

/** Port for gRPC of the attacked server, which nobody tells; the one for HTTP is any free one. */
const GRPC_PORT = 46_873;
const MIB = 2 ** 20;
/** Doors that are attacked side by side. */
const AT_ONCE = 10;
/** Statuses of a server that is asked for more than it has or takes. */
const HONEST = new Set([501, 503, 504]);
const LARGEST_BODY = 8 * MIB;

interface Abuse {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | number>>;
  /** Written one after the other. */
  readonly pieces?: readonly (Buffer | string)[];
  /** Milliseconds between two pieces. */
  readonly pauseMs?: number;
  /** Milliseconds after which the connection is left. */
  readonly ms?: number;
  readonly isRead?: boolean;
  readonly key?: string;
}

/** Sends one request over a connection of its own. @returns the status; 0 where there was none in time */
async function send(client: Client, { method, path }: Operation, abuse: Abuse): Promise<number> {
  const { headers = {}, pieces = [], pauseMs, ms = 1500, isRead = true, key } = abuse;
  const socket = await client.connect();
  if (!isRead) socket.pause();
  const answered = new Promise<number>((resolve) => {
    socket.once('data', (data: Buffer) => resolve(Number(data.toString('latin1', 9, 12))));
    socket.once('close', () => resolve(0));
  });
  const authorization = key === undefined ? {} : { authorization: key };
  const all = { 'content-type': 'application/json', ...authorization, ...headers };
  socket.write(`${client.head(method.toUpperCase(), abuse.path ?? filled(path), all)}\r\n`);
  for (const piece of pieces) {
    if (socket.destroyed) break;
    socket.write(piece);
    if (pauseMs !== undefined) await sleep(pauseMs);
  }
  const status = await Promise.race([answered, sleep(ms, 0)]);
  socket.destroy();
  return status;
}

function filled(path: string, value = 'summit'): string {
  return path.replaceAll(/\{\w+\}/g, value);
}

/** A body that works, or the nearest to one. */
function bodyOf({ example }: Operation): string {
  return JSON.stringify({ max_tokens: 4, ...example });
}

function whole(body: string | Buffer): Pick<Abuse, 'headers' | 'pieces'> {
  return { headers: { 'content-length': Buffer.byteLength(body) }, pieces: [body] };
}

function chunked(pieces: readonly (string | Buffer)[]): Pick<Abuse, 'headers' | 'pieces'> {
  return {
    headers: { 'transfer-encoding': 'chunked' },
    pieces: pieces.map((piece) =>
      Buffer.concat([
        Buffer.from(`${Buffer.byteLength(piece).toString(16)}\r\n`),
        Buffer.from(piece),
        Buffer.from('\r\n'),
      ]),
    ),
  };
}

/** All doors, some at once. @returns those that answered with a fault of the server's */
async function abuseAll(
  client: Client,
  make: (operation: Operation) => readonly Abuse[],
): Promise<string[]> {
  const tries = OPERATIONS.flatMap((operation) =>
    make(operation).map((abuse) => async (): Promise<string[]> => {
      const status = await send(client, operation, abuse).catch(() => 0);
      if (status < 500 || HONEST.has(status)) return [];
      return [`${operation.method} ${abuse.path ?? operation.path} answered ${status}`];
    }),
  );
  const breaches: string[] = [];
  const one = async (): Promise<void> => {
    for (let next = tries.shift(); next !== undefined; next = tries.shift()) {
      breaches.push(...(await next()));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return breaches;
}

type Family = readonly [name: string, make: (operation: Operation) => readonly Abuse[]];

const TRICKS = [
  '..',
  '%2e%2e%2fetc',
  '__proto__',
  'constructor',
  '%00',
  'a%0d%0ab',
  '%F0%9F%98%80',
];
const LONELY = '\\ud800';

const FAMILIES: readonly Family[] = [
  [
    'a body that comes slowly',
    () => [
      {
        headers: { 'content-length': 1000 },
        pieces: Array<string>(8).fill('{'),
        pauseMs: 250,
        ms: 1,
      },
    ],
  ],
  ['a body in pieces of one byte', () => [chunked(Array<string>(6000).fill(' '))]],
  [
    'a huge body',
    () => [
      { headers: { 'content-length': 2 ** 40 }, pieces: ['{'] },
      chunked(Array<Buffer>(10).fill(Buffer.alloc(LARGEST_BODY / 8, 'a'))),
    ],
  ],
  ['a deep body', () => [whole('['.repeat(200_000)), whole(`${'{"a":'.repeat(50_000)}1`)]],
  ['many at once', (operation) => Array<Abuse>(10).fill(whole(bodyOf(operation)))],
  [
    'text that is no Unicode',
    (operation) => [
      whole(Buffer.concat([Buffer.from('{"model":"'), Buffer.alloc(300, 0xf0), Buffer.from('"}')])),
      whole(bodyOf(operation).replaceAll(/:"/g, `:"${'a'.repeat(199)}${LONELY}`)),
    ],
  ],
  [
    'framing that is not well-formed',
    (operation) => [
      { headers: { 'content-length': -1 } },
      { headers: { 'content-length': 5, 'transfer-encoding': 'chunked' }, pieces: ['0\r\n\r\n'] },
      { headers: { 'transfer-encoding': 'chunked' }, pieces: ['zz\r\n', bodyOf(operation)] },
    ],
  ],
  [
    'half a body, and nobody there',
    (operation) => [{ ...whole(bodyOf(operation).repeat(2)), pieces: [bodyOf(operation)], ms: 1 }],
  ],
  [
    'an answer that nobody reads',
    (operation) => [{ ...whole(bodyOf(operation)), isRead: false, ms: 800 }],
  ],
  [
    'a key that is none',
    (operation) => [
      { ...whole(bodyOf(operation)), key: 'Bearer nobody' },
      { ...whole(bodyOf(operation)), key: `Bearer ${'k'.repeat(8000)}` },
      { ...whole(bodyOf(operation)), key: `Basic ${'='.repeat(100)}` },
    ],
  ],
  [
    'names and paths of other things',
    ({ path }) =>
      path.includes('{')
        ? TRICKS.map((trick) => ({ path: filled(path, trick) }))
        : [
            { path: `${path}/../../x` },
            { path: `${path}?${'a=b&'.repeat(3000)}` },
            { path: `${path}%E0%A4%A` },
          ],
  ],
  [
    'hosts that are none',
    () => [{ headers: { host: 'a'.repeat(5000) } }, { headers: { host: '$`' } }],
  ],
];

const METHODS: readonly DescMethod[] = [
  ...GRPCInferenceService.methods,
  ...Health.methods,
  ...ServerReflection.methods,
];

const MESSAGES: readonly Buffer[] = [
  begunMessage(0, 0),
  begunMessage(LARGEST_BODY, 1000),
  begunMessage(2 ** 32 - 1, 0),
  Buffer.from([9, 0, 0, 0, 1, 1]),
  Buffer.concat([begunMessage(4000, 0), Buffer.alloc(4000, 0xff)]),
  Buffer.concat([begunMessage(300, 0), Buffer.from([10, 0xa9, 2]), Buffer.alloc(297, 0xf0)]),
];

/** Each method with each message, with and without a key, over one connection for each method. */
async function callAll(key: string): Promise<void> {
  for (const method of METHODS) {
    const socket: Socket = connectTcp({
      host: '127.0.0.1',
      port: GRPC_PORT,
      localAddress: '127.0.0.2',
    });
    socket.on('error', () => {}).resume();
    await once(socket, 'connect');
    socket.write(Buffer.concat([Buffer.from(PREFACE), frame(FRAME.settings, 0)]));
    for (const [index, message] of MESSAGES.entries()) {
      const id = 1 + 2 * index;
      const path = `/${method.parent.typeName}/${method.name}`;
      socket.write(callHead(path, id, { 'x-api-key': key }));
      socket.write(frame(FRAME.data, id, message, index % 2));
    }
    await sleep(100);
    socket.destroy();
  }
}

export const attacks: readonly Attack[] = [
  ...FAMILIES.map(([name, make]): Attack => ({
    name: `every route: ${name}`,
    hasKeys: true,
    run: ({ attacker }) => abuseAll(attacker, make),
  })),
  {
    name: 'every method of gRPC: messages that are none, with a key and with another',
    flags: [`--grpc-port=${GRPC_PORT}`],
    hasKeys: true,
    async run() {
      await callAll(KEYS.attacker);
      await callAll('nobody');
    },
  },
];
