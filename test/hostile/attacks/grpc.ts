/** The port for gRPC: connections, streams and frames that are more than their messages. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { begunMessage, callHead, FRAME, frame, PREFACE } from '../../support/http2-frames.ts';
import type { Attack } from '../support/attack.ts';
import { KEYS } from '../support/attack.ts';

/** Port for gRPC of the attacked server, which nobody tells; the one for HTTP is any free one. */
const GRPC_PORT = 46_872;
const GRPC = [`--grpc-port=${GRPC_PORT}`];
const OPEN = [...GRPC, '--grpc-public-health'];

const INFER = '/inference.GRPCInferenceService/ModelInfer';
const STREAM = '/inference.GRPCInferenceService/ModelStreamInfer';
const CHECK = '/grpc.health.v1.Health/Check';
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
const LARGEST = 8 * 2 ** 20;
const KEY = { 'x-api-key': KEYS.attacker };

async function open(): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: GRPC_PORT, localAddress: '127.0.0.2' });
  socket.on('error', () => {}).resume();
  await once(socket, 'connect').catch(() => {});
  socket.write(Buffer.concat([Buffer.from(PREFACE), frame(FRAME.settings, 0)]));
  return socket;
}

/** Writes the same again and again, as fast as it is taken, over several connections that come back. */
async function flood(
  numConnections: number,
  ms: number,
  begin: Buffer,
  repeated: (round: number) => Buffer,
): Promise<void> {
  const deadline = performance.now() + ms;
  const one = async (): Promise<void> => {
    while (performance.now() < deadline) {
      const socket = await open();
      socket.write(begin);
      for (let round = 0; performance.now() < deadline && !socket.destroyed; round++) {
        if (socket.write(repeated(round))) await sleep(0);
        else await Promise.race([once(socket, 'drain').catch(() => {}), sleep(1000)]);
      }
      socket.destroy();
      await sleep(5);
    }
  };
  await Promise.all(Array.from({ length: numConnections }, one));
}

/** Streams of messages that are nearly complete, as much of each as the server takes in. */
function nearlyAll(path: string, fields: Readonly<Record<string, string>>): () => Promise<void> {
  return async () => {
    const sockets: Socket[] = [];
    for (let connection = 0; connection < 2; connection++) {
      const socket = await open();
      sockets.push(socket);
      for (let stream = 0; stream < 64; stream++) {
        const id = 1 + 2 * stream;
        socket.write(
          Buffer.concat([callHead(path, id, fields), data(id, begunMessage(LARGEST - 1, 0))]),
        );
      }
    }
    const piece = Buffer.alloc(16_384);
    for (let round = 0; round < 400; round++) {
      for (const socket of sockets) {
        if (!socket.destroyed) socket.write(data(1 + 2 * (round % 64), piece));
      }
      await sleep(10);
    }
    await sleep(4000);
    for (const socket of sockets) socket.destroy();
  };
}

function data(streamId: number, payload: Buffer): Buffer {
  return frame(FRAME.data, streamId, payload);
}

function many(one: Buffer): Buffer {
  return Buffer.concat(Array<Buffer>(Math.ceil(65_536 / one.length)).fill(one));
}

export const attacks: readonly Attack[] = [
  {
    name: 'streams of messages that are nearly complete, and then silence',
    flags: GRPC,
    hasKeys: true,
    run: nearlyAll(STREAM, KEY),
  },
  {
    name: 'the same without a key, to reflection',
    flags: OPEN,
    hasKeys: true,
    run: nearlyAll(REFLECTION, {}),
  },
  {
    name: '1,100 silent connections, while others call',
    flags: GRPC,
    hasKeys: true,
    async run() {
      const sockets = await Promise.all(
        Array.from({ length: 1100 }, async (_, index) => {
          const socket = connect({ host: '127.0.0.1', port: GRPC_PORT, localAddress: '127.0.0.2' });
          socket.on('error', () => {}).resume();
          await once(socket, 'connect').catch(() => {});
          if (index % 2 === 0) socket.write(PREFACE);
          return socket;
        }),
      );
      const breaches: string[] = [];
      for (let time = 0; time < 5; time++) {
        const socket = await open();
        const answered = once(socket, 'data').then(() => true);
        socket.write(
          Buffer.concat([callHead(CHECK, 1), frame(FRAME.data, 1, begunMessage(0, 0), 1)]),
        );
        if (!(await Promise.race([answered, sleep(5000, false)])))
          breaches.push('a call got no answer');
        socket.destroy();
        await sleep(500);
      }
      for (const socket of sockets) socket.destroy();
      return breaches;
    },
  },
  {
    name: 'messages in pieces of one byte',
    flags: OPEN,
    hasKeys: true,
    run: () =>
      flood(8, 6000, Buffer.concat([callHead(CHECK, 1), data(1, begunMessage(60_000, 0))]), () =>
        many(data(1, Buffer.from('x'))),
      ),
  },
  {
    name: 'a flood of WINDOW_UPDATE',
    flags: GRPC,
    run: () =>
      flood(8, 6000, Buffer.alloc(0), () =>
        many(frame(FRAME.window, 0, Buffer.from([0, 0, 0, 1]))),
      ),
  },
  {
    name: 'calls that are reset at once',
    flags: GRPC,
    hasKeys: true,
    run: () =>
      flood(8, 6000, Buffer.alloc(0), (round) =>
        Buffer.concat(
          Array.from({ length: 32 }, (_, index) => {
            const id = 1 + 2 * (round * 32 + index);
            return Buffer.concat([
              callHead(INFER, id, KEY),
              frame(FRAME.reset, id, Buffer.from([0, 0, 0, 8])),
            ]);
          }),
        ),
      ),
  },
  {
    name: 'names of services and tensors that end within a character',
    flags: OPEN,
    hasKeys: true,
    async run() {
      const service = Buffer.from(`${'a'.repeat(199)}\u{1F600}`);
      const message = Buffer.concat([
        Buffer.from([10, 0x80 | (service.length & 127), service.length >> 7]),
        service,
      ]);
      const framed = Buffer.concat([begunMessage(message.length, 0), message]);
      for (let time = 0; time < 50; time++) {
        const socket = await open();
        const answered = once(socket, 'data');
        socket.write(Buffer.concat([callHead(CHECK, 1), frame(FRAME.data, 1, framed, 1)]));
        await Promise.race([answered, sleep(2000)]);
        await sleep(20);
        socket.destroy();
      }
    },
  },
];
