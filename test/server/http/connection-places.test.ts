import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LIMITS } from '../../../src/limits.ts';
import { ConnectionPlaces, type Place } from '../../../src/server/http/connection-places.ts';

/** A connection of which only its end matters. */
class FakeSocket extends EventEmitter {
  readonly remoteAddress: string;
  destroyed = false;

  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

function take(places: ConnectionPlaces, address: string, mayBeReserved = true) {
  const socket = new FakeSocket(address);
  const place = places.take(socket as unknown as Socket, mayBeReserved);
  return { socket, place };
}

/** Place of a connection that got one. */
function placeOf({ place }: { readonly place: Place | string }): Place {
  if (typeof place === 'string') throw new Error(place);
  return place;
}

function fullServer(numTaken: number): ConnectionPlaces {
  const places = new ConnectionPlaces({ maxConnections: numTaken, maxConnectionsPerAddress: null });
  for (let index = 0; index < numTaken; index++) placeOf(take(places, '10.0.0.1')).busy();
  return places;
}

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

test('who has the most connections makes room, its longest idle one first', () => {
  const places = new ConnectionPlaces({ maxConnections: 6, maxConnectionsPerAddress: null });
  const honest = [take(places, '10.0.0.2'), take(places, '10.0.0.2')];
  const many = Array.from({ length: 50 }, () => take(places, '10.0.0.1'));
  expect(honest.map(({ socket }) => socket.destroyed)).toEqual([false, false]);
  expect(many.findIndex(({ socket }) => !socket.destroyed)).toBe(46);
});

test('a request that is still arriving makes room where nothing is idle', () => {
  const places = new ConnectionPlaces({ maxConnections: 3, maxConnectionsPerAddress: null });
  const taken = [0, 1, 2].map(() => take(places, '10.0.0.1'));
  for (const each of taken) placeOf(each).busy();
  placeOf(taken[1] ?? take(places, '')).isReceiving = () => true;
  expect(placeOf(take(places, '10.0.0.2')).isReserved).toBe(false);
  expect(taken.map(({ socket }) => socket.destroyed)).toEqual([false, true, false]);
});

test('when all are at work, a few more are let in where the reserve is of use', () => {
  const places = fullServer(2);
  expect(take(places, '10.0.0.2', false).place).toBe('server');
  expect(placeOf(take(places, '10.0.0.2')).isReserved).toBe(true);
});

test('who fills the reserve pushes out its own, and no other', () => {
  const places = fullServer(2);
  const probe = take(places, '10.0.0.2');
  const flood = Array.from({ length: 500 }, () => take(places, '10.0.0.1'));
  const open = flood.filter(({ socket }) => !socket.destroyed);
  expect(open).toHaveLength(LIMITS.reservedConnections - 1);
  expect(open.at(-1)).toBe(flood.at(-1));
  expect(probe.socket.destroyed).toBe(false);
});

test('a connection of the reserve is closed when no request comes, unless one is at work', () => {
  const places = fullServer(2);
  const silent = take(places, '10.0.0.2');
  const working = take(places, '10.0.0.2');
  placeOf(working).busy();
  vi.advanceTimersByTime(LIMITS.reservedMs);
  expect([silent.socket.destroyed, working.socket.destroyed]).toEqual([true, false]);
});

test('when all of the reserve are at work, nobody is let in until one ends', () => {
  const places = fullServer(2);
  const guests = Array.from({ length: LIMITS.reservedConnections }, () => take(places, '10.0.0.1'));
  for (const guest of guests) placeOf(guest).busy();
  expect(take(places, '10.0.0.2').place).toBe('server');
  guests[0]?.socket.destroy();
  expect(placeOf(take(places, '10.0.0.2')).isReserved).toBe(true);
});
