/** Handlers that throw, which is nobody's plan: their calls end. */
import { EventEmitter } from 'node:events';
import { constants, type ServerHttp2Stream } from 'node:http2';
import { expect, test, vi } from 'vitest';
import { CallStream } from '../../src/grpc/call-stream.ts';
import { IncomingMessages } from '../../src/grpc/incoming-messages.ts';

const error = new Error('went wrong');
const throws = (): never => {
  throw error;
};
const nothing = (): void => {};

/** A stream of HTTP/2, as far as calls look at it. */
function fakeStream(more: object = {}) {
  const close = vi.fn<(code: number) => void>();
  const parts = { close, end: nothing, pause: nothing, resume: nothing, ...more };
  const stream = Object.assign(new EventEmitter(), parts);
  return { stream, close, http2: stream as unknown as ServerHttp2Stream };
}

test.each(['data', 'end'])('of %s: the call fails', (event) => {
  const { stream, http2 } = fakeStream();
  const fail = vi.fn<(reason: unknown) => void>();
  const limits = { maxBytes: 10, receiveMs: 1000, isDue: false, charge: throws, release: nothing };
  void new IncomingMessages(http2, 'identity', limits, { message: nothing, end: throws, fail });
  stream.emit(event, Buffer.from([0, 0, 0, 0, 1, 1]));
  expect(fail.mock.calls).toEqual([[error]]);
});

test('of the end of an answer: the call is closed', () => {
  const { stream, close, http2 } = fakeStream({ headersSent: true, sendTrailers: throws });
  new CallStream(http2, {}).end({ code: 0, details: '' });
  expect(() => stream.emit('wantTrailers')).toThrow(error);
  expect(close.mock.calls).toEqual([[constants.NGHTTP2_INTERNAL_ERROR]]);
});
