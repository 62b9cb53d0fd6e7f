/** Inputs that strangers send to the ports of `--kv-events`. */
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { EventHistory } from '../../../src/front/kv-events/event-history.ts';
import { Publisher, Replayer } from '../../../src/front/kv-events/event-sockets.ts';
import { greeting, messageOf, ready } from '../../../src/front/kv-events/zmtp.ts';
import type { Target } from './target.ts';

/** The command of a peer that is of another kind than any socket here. */
function peerReady(kind: string): Buffer {
  // The kinds differ in nothing but their names.
  const own = ready('PUB');
  const length = Buffer.alloc(4);
  length.writeUInt32BE(kind.length);
  const body = Buffer.concat([own.subarray(2, own.length - 7), length, Buffer.from(kind)]);
  return Buffer.concat([Buffer.from([4, body.length]), body]);
}

const start = Buffer.alloc(8);
const PING = Buffer.from('\x04\x08\x04PING\0\0a');
const SUBSCRIPTION = [greeting(), peerReady('SUB'), PING, messageOf(['\x01kv'])];
const REQUEST = [greeting(), peerReady('DEALER'), messageOf(['', start])];
const BATCH = { topic: 'kv', sequence: 0, payload: new Uint8Array(100) };
const PIECE_BYTES = 50;

export const EVENT_TARGETS: readonly Target[] = [
  {
    name: 'events',
    seeds: [Buffer.concat(SUBSCRIPTION), Buffer.concat(REQUEST)],
    dictionary: ['READY', 'Socket-Type', 'SUB', 'XSUB', 'DEALER', 'PING', 'NULL', 'PLAIN', 'CURVE'],
    maxBytes: 2048,
    maxWork: 2e6,
    async run(input) {
      const history = new EventHistory(10, 10_000);
      history.add(BATCH);
      const publisher = new Publisher();
      await told(input, (socket) => publisher.add(socket));
      publisher.publish(BATCH);
      const replayer = new Replayer(history);
      await told(input, (socket) => replayer.add(socket));
    },
  },
];

/** Gives a connection the input in pieces, and its end. @throws Error for an answer out of proportion */
async function told(input: Buffer, connect: (socket: Socket) => void): Promise<void> {
  let numBytes = 0;
  const socket = new Duplex({
    read() {},
    write(bytes: Buffer, _encoding, done) {
      numBytes += bytes.length;
      done();
    },
  });
  connect(socket as Socket);
  for (let at = 0; at < input.length; at += PIECE_BYTES) {
    socket.push(input.subarray(at, at + PIECE_BYTES));
    await setImmediate();
  }
  await setImmediate();
  socket.destroy();
  if (numBytes > 200 * (input.length + 100)) throw new Error(`${numBytes} bytes of answers`);
}
