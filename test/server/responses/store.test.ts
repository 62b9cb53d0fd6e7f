import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Item } from '../../../src/server/responses/items.ts';
import { EventLog } from '../../../src/server/responses/event-log.ts';
import type { ResponsePartition } from '../../../src/server/responses/partition.ts';
import { LIMITS } from '../../../src/limits.ts';
import { ResponseStore } from '../../../src/server/responses/store.ts';
import { conversationOf, Turn } from '../../../src/server/responses/turn.ts';

function message(id: string, text: string): Item {
  return {
    id,
    type: 'message',
    status: 'completed',
    role: 'user',
    content: [{ type: 'input_text', text }],
  };
}

function put(store: ResponsePartition, id: string, turn: Turn | null = null, text = ''): void {
  store.put({ id, response: { id, text }, input: [], turn, cancel: null, events: null });
}

test('a conversation that is too long is not read', () => {
  const first = new Turn(null, [message('m1', 'x'.repeat(LIMITS.conversationBytes / 2))]);
  expect(conversationOf(first)).toHaveLength(1);
  const second = new Turn(first, [message('m2', 'x'.repeat(LIMITS.conversationBytes / 2))]);
  expect(() => conversationOf(second)).toThrow(String(LIMITS.conversationBytes));
});

test('a conversation of very many turns is read', () => {
  let last: Turn | null = null;
  for (let index = 0; index < 15_000; index++) last = new Turn(last, [message('m', '')]);
  const partition = new ResponseStore(2 ** 26).of('');
  partition.keepLast({}, last);
  expect(conversationOf(last)).toHaveLength(15_000);
});

describe('the response store', () => {
  test('drops the least recently used first', () => {
    const store = new ResponseStore(1000).of('');
    put(store, 'a', null, 'x'.repeat(400));
    put(store, 'b', null, 'x'.repeat(400));
    expect(store.get('a')?.response).toMatchObject({ id: 'a' });
    put(store, 'c', null, 'x'.repeat(400));
    expect([store.get('a')?.id, store.get('b')?.id, store.get('c')?.id]).toEqual([
      'a',
      undefined,
      'c',
    ]);
  });

  test('keeps nothing that is larger than all it may hold', () => {
    const store = new ResponseStore(100).of('');
    put(store, 'a');
    put(store, 'b', null, 'x'.repeat(200));
    expect({ size: store.size, numBytes: store.numBytes }).toEqual({ size: 0, numBytes: 0 });
  });

  test('keeps a turn as long as a later one follows on it', () => {
    const store = new ResponseStore(10_000).of('');
    const first = new Turn(null, [message('m1', 'One')]);
    const second = new Turn(first, [message('m2', 'Two')]);
    put(store, 'a', first);
    put(store, 'b', second);
    store.delete('a');
    expect(store.turnOfItem('m1')).toBe(first);
    expect(conversationOf(store.get('b')?.turn ?? null).map(({ id }) => id)).toEqual(['m1', 'm2']);
    store.delete('b');
    expect(store.turnOfItem('m1')).toBeUndefined();
    expect(store.numBytes).toBe(0);
  });

  test('update revives nothing', () => {
    const store = new ResponseStore(1000).of('');
    store.update({ id: 'a', response: {}, input: [], turn: null, cancel: null, events: null });
    expect(store.size).toBe(0);
  });

  test('a client that fills it drops its own', () => {
    const store = new ResponseStore(2000);
    const [a, b] = [store.of('a'), store.of('b')];
    put(a, 'one', new Turn(null, [message('m', 'x'.repeat(100))]));
    for (let index = 0; index < 50; index++) put(b, String(index), null, 'x'.repeat(200));
    expect(a.get('one')?.turn).not.toBeNull();
    expect(b.size).toBeGreaterThan(2);
    expect(store.numBytes).toBeLessThanOrEqual(2000);
  });

  test('two clients that fill it have a half each', () => {
    const store = new ResponseStore(10_000);
    for (let index = 0; index < 100; index++) {
      put(store.of('a'), String(index), null, 'x'.repeat(200));
      put(store.of('b'), String(index), null, 'x'.repeat(600));
    }
    const [a, b] = [store.of('a').numBytes, store.of('b').numBytes];
    expect(a + b).toBeGreaterThan(9000);
    expect(Math.abs(a - b)).toBeLessThan(1000);
  });

  test('the same id of two clients is two responses', () => {
    const store = new ResponseStore(2000);
    put(store.of('a'), 'one', null, 'of a');
    put(store.of('b'), 'one', null, 'of b');
    expect(store.of('b').delete('one')).toBe(true);
    expect(store.of('a').get('one')?.response).toMatchObject({ text: 'of a' });
    expect(store.of('b').get('one')).toBeUndefined();
  });

  test('ends a background response that it drops: nobody can ask for it any more', () => {
    const store = new ResponseStore(500);
    let cancelled = 0;
    const cancel = (): void => void cancelled++;
    store.of('').put({
      id: 'a',
      response: { text: 'x'.repeat(100) },
      input: [],
      turn: null,
      cancel,
      events: null,
    });
    put(store.of(''), 'b', null, 'x'.repeat(450));
    expect(store.of('').get('a')).toBeUndefined();
    expect(cancelled).toBe(1);
  });

  test('counts events by their texts and their number, and lets go of them', async () => {
    const store = new ResponseStore(10_000);
    const partition = store.of('');
    const events = new EventLog();
    partition.put({ id: 'a', response: {}, input: [], turn: null, cancel: null, events });
    const before = store.numBytes;
    const reading = events.read(-1, new AbortController().signal);
    const event = { type: 'x', sequence_number: 0 };
    partition.tell('a', [event, event]);
    const ofEvent = Buffer.byteLength(JSON.stringify(event)) + LIMITS.keptEventBytes;
    expect(store.numBytes).toBe(before + 2 * ofEvent);
    expect((await reading.next()).value).toHaveLength(2);
    while (store.size > 0) {
      expect(store.numBytes).toBeLessThanOrEqual(10_000);
      partition.tell('a', [event]);
    }
    expect({ kept: store.numBytes, events: events.numBytes }).toEqual({ kept: 0, events: 0 });
    // A reader who is behind holds none either.
    await expect(reading.next()).rejects.toThrow('--response-store-size');
  });

  test('counts what sessions go on with, shared turns once, and lets go of it', () => {
    const store = new ResponseStore(10_000);
    const partition = store.of('');
    const [one, other] = [{}, {}];
    const first = new Turn(null, [message('m1', 'One')]);
    const second = new Turn(first, [message('m2', 'Two')]);
    partition.keepLast(one, first);
    partition.keepLast(other, first);
    expect(store.numBytes).toBe(first.numBytes);
    partition.keepLast(one, second);
    expect(store.numBytes).toBe(second.numConversationBytes);
    partition.keepLast(one, null);
    expect(partition.lastOf(one)).toBeUndefined();
    expect(store.numBytes).toBe(first.numBytes);
    partition.keepLast(other, null);
    expect({ size: store.size, numBytes: store.numBytes }).toEqual({ size: 0, numBytes: 0 });
  });

  test('drops what sessions go on with too when there is too much of it', () => {
    const store = new ResponseStore(1000);
    const sessions = Array.from({ length: 20 }, () => ({}));
    for (const session of sessions) {
      store.of('').keepLast(session, new Turn(null, [message('m', 'x'.repeat(300))]));
      expect(store.numBytes).toBeLessThanOrEqual(1000);
    }
    const kept = sessions.filter((session) => store.of('').lastOf(session) !== undefined);
    expect(kept).toEqual(sessions.slice(-kept.length));
    expect(kept).toHaveLength(2);
  });

  test('never holds more than it may, and gives everything back', () => {
    const step = fc.record({
      id: fc.integer({ min: 0, max: 9 }),
      previous: fc.option(fc.integer({ min: 0, max: 9 })),
      length: fc.integer({ min: 0, max: 300 }),
      deletes: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const store = new ResponseStore(2000).of('');
        const sessions = [{}, {}, {}];
        for (const [index, { id, previous, length, deletes }] of steps.entries()) {
          const session = sessions[id];
          if (deletes) store.delete(String(id));
          else if (session !== undefined) {
            const before = store.lastOf(session) ?? null;
            store.keepLast(session, new Turn(before, [message(`m${index}`, 'x'.repeat(length))]));
          } else {
            const before = previous === null ? null : (store.get(String(previous))?.turn ?? null);
            const turn = new Turn(before, [message(`m${index}`, 'x'.repeat(length))]);
            put(store, String(id), turn, 'y'.repeat(length));
          }
          expect(store.numBytes).toBeLessThanOrEqual(2000);
        }
        for (let id = 0; id < 10; id++) store.delete(String(id));
        for (const session of sessions) store.keepLast(session, null);
        expect(store.numBytes).toBe(0);
        for (const index of steps.keys()) expect(store.turnOfItem(`m${index}`)).toBeUndefined();
      }),
    );
  });
});
