/** Handlers that throw, which is nobody's plan: their connections are closed, since no answer will come. */
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { onTestFinished, expect, test, vi } from 'vitest';
import { ConnectionPlaces } from '../../../src/server/http/connection-places.ts';
import { Connections } from '../../../src/server/http/connections.ts';

const error = new Error('went wrong');
const throws = (): never => {
  throw error;
};

/** A connection, two requests of it, and its response to each. */
function open() {
  const places = new ConnectionPlaces({ maxConnections: 1, maxConnectionsPerAddress: null });
  const rules = { mayUseReserve: () => true, stalledReaderMs: 6000, readerBytesPerSecond: 1000 };
  const connections = new Connections(places, rules);
  onTestFinished(() => connections.close());
  const destroy = vi.fn<() => void>();
  const socket = Object.assign(new EventEmitter(), { destroy, destroyed: false });
  connections.add(socket as unknown as Socket);
  const request = { socket, complete: true } as unknown as IncomingMessage;
  const serve = (handle: () => void): EventEmitter => {
    const response = new EventEmitter();
    connections.serve(request, response as unknown as ServerResponse, handle);
    return response;
  };
  return { destroy, request, serve };
}

test('of the next request of a connection', () => {
  const { destroy, serve } = open();
  const first = serve(() => {});
  serve(throws);
  expect(() => first.emit('close')).toThrow(error);
  expect(destroy).toHaveBeenCalledOnce();
});

test('of the rest of a body', () => {
  const { destroy, request, serve } = open();
  const response = serve(() => {});
  Object.defineProperty(request, 'complete', { get: throws });
  expect(() => response.emit('finish')).toThrow(error);
  expect(destroy).toHaveBeenCalledOnce();
});
