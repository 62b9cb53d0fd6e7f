import { EventEmitter } from 'node:events';
import { Socket } from 'node:net';
import { pino } from 'pino';
import { expect, test, vi } from 'vitest';
import type { WebSocket } from 'ws';
import { LIMITS } from '../../src/limits.ts';
import { BodyBudget } from '../../src/server/http/body-budget.ts';
import { ArrivedBytes } from '../../src/server/websocket/arrived-bytes.ts';
import { FrameReceiver } from '../../src/server/websocket/frame-receiver.ts';
import { FrameTurns } from '../../src/server/websocket/frame-turns.ts';
import { FrameWriter } from '../../src/server/websocket/frame-writer.ts';

/** Parts of a socket that its receiver looks at. */
class FakeSocket extends EventEmitter {
  readonly OPEN = 1;
  readonly readyState = 1;
  readonly bufferedAmount = 0;
  isPaused = false;

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }
}

/** Receives `text` as a frame; notes what comes of it and of another socket's work. */
function receive(text: string) {
  const socket = new FakeSocket();
  const webSocket = socket as unknown as WebSocket;
  const turns = new FrameTurns();
  const events: string[] = [];
  const taken: string[] = [];
  const receiver = new FrameReceiver({
    socket: webSocket,
    writer: new FrameWriter(webSocket, new Socket()),
    turns,
    arrived: new ArrivedBytes(new BodyBudget(), 'client'),
    logger: pino({ level: 'silent' }),
    handle(frame) {
      receiver.accept();
      events.push('taken');
      taken.push(frame);
    },
    tell: ({ message }) => events.push(message),
  });
  // It takes a whole turn of the loop, so that the frame begins in the next.
  const until = performance.now() + 2 * LIMITS.frameTurnMs;
  turns.add({
    handlePiece() {
      while (performance.now() < until);
      return false;
    },
  });
  turns.add({
    handlePiece() {
      events.push('other');
      return events.length < 1000;
    },
  });
  socket.emit('message', Buffer.from(text), false);
  const isPaused = () => socket.isPaused;
  return { events, taken, isPaused };
}

async function turnUntil(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

test('a large frame is scanned in pieces, and other sockets have their turns in between', async () => {
  // Its characters of three bytes lie across the pieces' borders.
  const text = JSON.stringify({ prompt: '漢'.repeat(300_000) });
  const { events, taken, isPaused } = receive(text);
  expect(isPaused()).toBe(true);
  await turnUntil(() => events.includes('taken'));
  const numPieces = Math.ceil(Buffer.byteLength(text) / LIMITS.bodyTurnBytes);
  expect(events.indexOf('taken')).toBeGreaterThanOrEqual(numPieces - 1);
  expect(taken).toEqual([text]);
  expect(isPaused()).toBe(false);
});

test('a large frame is refused at the piece that is too much', async () => {
  const { events, taken } = receive('['.repeat(20 * LIMITS.bodyTurnBytes));
  await turnUntil(() => events.some((event) => event.includes('64 levels')));
  expect(events.findIndex((event) => event !== 'other')).toBeLessThan(3);
  expect(taken).toEqual([]);
});

test('a socket is closed when a frame of it goes wrong: it would never be answered', () => {
  const socket = Object.assign(new FakeSocket(), { terminate: vi.fn<() => void>() });
  const webSocket = socket as unknown as WebSocket;
  const error = new Error('went wrong');
  const turns = new FrameTurns();
  turns.add = () => {
    throw error;
  };
  void new FrameReceiver({
    socket: webSocket,
    writer: new FrameWriter(webSocket, new Socket()),
    turns,
    arrived: new ArrivedBytes(new BodyBudget(), 'client'),
    logger: pino({ level: 'silent' }),
    handle() {},
    tell() {},
  });
  expect(() => socket.emit('message', Buffer.from('{}'), false)).toThrow(error);
  expect(socket.terminate).toHaveBeenCalledOnce();
});
