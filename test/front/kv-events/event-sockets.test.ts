/** Sockets of ZeroMQ, and what nobody should say to them; test/e2e has real ones. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { onTestFinished, expect, test, vi } from 'vitest';
import { EventHistory } from '../../../src/front/kv-events/event-history.ts';
import { Publisher, Replayer } from '../../../src/front/kv-events/event-sockets.ts';
import {
  FrameReader,
  greeting,
  GREETING_BYTES,
  messageOf,
} from '../../../src/front/kv-events/zmtp.ts';
import { LIMITS } from '../../../src/limits.ts';

const MIB = 2 ** 20;

/** @returns its port */
async function listen(sockets: Publisher | Replayer): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    sockets.add(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    sockets.close();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const batch = (sequence: number, topic = 'kv@a', size = 4) => ({
  topic,
  sequence,
  payload: Buffer.alloc(size, sequence),
});

/** A connection that has said so much. */
async function say(port: number, ...words: readonly Buffer[]): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
    .on('error', () => {})
    .setNoDelay();
  for (const word of words) {
    socket.write(word);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return socket;
}

/** As a socket of a kind introduces itself. */
const hello = (kind: string): Buffer =>
  Buffer.concat([
    Buffer.from([4, 22 + kind.length]),
    Buffer.from(`\x05READY\x0bSocket-Type\0\0\0${String.fromCharCode(kind.length)}${kind}`),
  ]);
const READY = hello('SUB');
const ALL = messageOf(['\x01']);

/** Bytes that follow once both have introduced themselves: commands' names, and frames of messages. */
function frames(socket: Socket): string[] {
  const reader = new FrameReader();
  const all: string[] = [];
  let hasGreeted = false;
  socket.on('data', (data: Buffer) => {
    reader.push(data);
    hasGreeted ||= reader.take(GREETING_BYTES) !== null;
    for (let frame = hasGreeted ? reader.next() : null; frame !== null; frame = reader.next()) {
      all.push(frame.body.toString('latin1'));
    }
  });
  return all;
}

test('a subscriber hears of topics that begin as it has asked, until it takes that back', async () => {
  const publisher = new Publisher();
  const socket = await say(await listen(publisher), greeting(), READY, messageOf(['\x01kv@a']));
  const heard = frames(socket);
  const publish = () => {
    for (const topic of ['kv@b', 'kv@abc']) publisher.publish(batch(7, topic));
  };
  publish();
  await vi.waitFor(() => expect(heard).toContain('kv@abc'));
  const [, ...message] = heard;
  expect(message).toEqual(['kv@abc', '\0\0\0\0\0\0\0\x07', '\x07\x07\x07\x07']);
  socket.write(messageOf(['\0kv@a']));
  // Whether it is there, which it says after the one before.
  socket.write(Buffer.from('\x04\x0a\x04PING\0\x09abc'));
  await vi.waitFor(() => expect(heard).toContain('\x04PONGabc'));
  publish();
  socket.write(Buffer.from('\x04\x0a\x04PING\0\x09def'));
  await vi.waitFor(() => expect(heard).toContain('\x04PONGdef'));
  expect(heard).toHaveLength(6);
  socket.destroy();
});

test('who asks is told again of what it missed', async () => {
  const history = new EventHistory(10, MIB);
  for (let sequence = 0; sequence < 5; sequence++) history.add(batch(sequence));
  const port = await listen(new Replayer(history));
  const ask = messageOf(['', Buffer.from([0, 0, 0, 0, 0, 0, 0, 3])]);
  const socket = await say(port, greeting(), hello('DEALER'), ask);
  const heard = frames(socket);
  await vi.waitFor(() => expect(heard).toContain('\xff'.repeat(8)));
  const sequences = heard.flatMap((frame) => (frame === 'kv@a' ? [] : [frame]));
  expect(sequences).toEqual([
    expect.stringContaining('READY'),
    ...['', '\0\0\0\0\0\0\0\x03', '\x03\x03\x03\x03'],
    ...['', '\0\0\0\0\0\0\0\x04', '\x04\x04\x04\x04'],
    ...['', '', '\xff'.repeat(8), ''],
  ]);
  socket.destroy();
});

test('however many ask, a turn of the event loop replays a piece to one of them', async () => {
  const size = 4096;
  const history = new EventHistory(400, 4 * MIB);
  for (let sequence = 0; sequence < 400; sequence++) history.add(batch(sequence, 'kv@a', size));
  const replayer = new Replayer(history);
  let numBytes = 0;
  const asking = Array.from({ length: 3 }, () => {
    const socket = new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        numBytes += chunk.length;
        done();
      },
    });
    replayer.add(socket as Socket);
    const words = [greeting(), hello('DEALER'), messageOf(['', Buffer.alloc(8)])];
    socket.push(Buffer.concat(words));
    return socket;
  });
  const turns: number[] = [];
  while (turns.reduce((sum, each) => sum + each, 0) < 3 * 400 * size) {
    const before = numBytes;
    await setImmediate();
    turns.push(numBytes - before);
  }
  expect(Math.max(...turns)).toBeLessThan(20 * size);
  for (const socket of asking) socket.destroy();
});

const WRONG: readonly (readonly [what: string, words: readonly Buffer[]])[] = [
  ['another protocol', [Buffer.from(`GET / HTTP/1.1\r\n${'a'.repeat(100)}`)]],
  ['version 2', [Buffer.from(greeting().with(10, 2))]],
  ['a mechanism of security', [Buffer.from(greeting().with(12, 0x50))]],
  ['a publisher', [greeting(), hello('PUB')]],
  ['no command first', [greeting(), ALL]],
  ['a message that is no subscription', [greeting(), READY, messageOf(['a'])]],
  ['a frame that is too long', [greeting(), READY, messageOf(['x'.repeat(2000)])]],
  ['a frame of any length', [greeting(), READY, Buffer.alloc(9, 0xff).fill(2, 0, 1)]],
  ['a message without an end', [greeting(), READY, Buffer.alloc(20, Buffer.from([1, 0]))]],
  [
    'too many subscriptions',
    [greeting(), READY, Buffer.concat(Array.from({ length: LIMITS.eventTopics + 1 }, () => ALL))],
  ],
];

test.each(WRONG)('%s closes the connection', async (_, words) => {
  const socket = await say(await listen(new Publisher()), ...words);
  socket.resume();
  await vi.waitFor(() => expect(socket.destroyed).toBe(true));
});

test('one that does not introduce itself is closed', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const publisher = new Publisher();
  const accepted: Socket[] = [];
  const add = publisher.add.bind(publisher);
  publisher.add = (socket) => {
    accepted.push(socket);
    add(socket);
  };
  const socket = connect(await listen(publisher), '127.0.0.1').on('error', () => {});
  await once(socket, 'data');
  vi.advanceTimersByTime(LIMITS.headMs);
  expect(accepted.map(({ destroyed }) => destroyed)).toEqual([true]);
});

test('subscribers that read nothing are left out when they have too much to read', async () => {
  const publisher = new Publisher();
  const accepted: Socket[] = [];
  const add = publisher.add.bind(publisher);
  publisher.add = (socket) => {
    accepted.push(socket);
    add(socket);
  };
  const port = await listen(publisher);
  const silent = await Promise.all([1, 2].map(() => say(port, greeting(), READY, ALL)));
  for (const socket of silent) socket.pause();
  for (let sequence = 0; sequence < 200; sequence++) publisher.publish(batch(sequence, 'kv', MIB));
  const unread = accepted.map(({ writableLength }) => writableLength);
  expect(Math.min(...unread)).toBeGreaterThan(LIMITS.unreadEventBytes / 4);
  expect(Math.max(...unread)).toBeLessThanOrEqual(LIMITS.unreadEventBytes / 2);
  for (const socket of silent) socket.destroy();
});
