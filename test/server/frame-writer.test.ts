import { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import type { WebSocket } from 'ws';
import { FrameWriter } from '../../src/server/websocket/frame-writer.ts';

/** Counts system calls, as a connection would make them. */
class FakeConnection extends Duplex {
  readonly written: string[] = [];

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.written.push(String(chunk));
    done();
  }

  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    this.written.push(chunks.map(({ chunk }) => String(chunk)).join(''));
    done();
  }
}

test('frames of one turn leave with one write, and at once', async () => {
  const connection = new FakeConnection();
  const socket = {
    OPEN: 1,
    readyState: 1,
    bufferedAmount: 0,
    send: (text: string, _options: object, onSent: () => void) => connection.write(text, onSent),
  };
  const writer = new FrameWriter(socket as unknown as WebSocket, connection as unknown as Socket);
  // As streams do that one step of the engine has woken.
  const step = () =>
    Promise.all(
      Array.from({ length: 8 }, async (_, stream) => {
        await Promise.resolve();
        await writer.write(`<${stream}>`);
      }),
    );
  await step();
  await new Promise((resolve) => process.nextTick(resolve));
  await step();
  await new Promise((resolve) => setImmediate(resolve));
  expect(connection.written).toEqual(Array(2).fill('<0><1><2><3><4><5><6><7>'));
});
