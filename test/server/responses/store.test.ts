import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Item } from '../../../src/server/responses/items.ts';
import { conversationOf, ResponseStore, Turn } from '../../../src/server/responses/store.ts';

function message(id: string, text: string): Item {
  return {
    id,
    type: 'message',
    status: 'completed',
    role: 'user',
    content: [{ type: 'input_text', text }],
  };
}

function put(store: ResponseStore, id: string, turn: Turn | null = null, text = ''): void {
  store.put({ id, response: { id, text }, input: [], turn, cancel: null });
}

describe('the response store', () => {
  test('drops the least recently used first', () => {
    const store = new ResponseStore(1000);
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
    const store = new ResponseStore(100);
    put(store, 'a');
    put(store, 'b', null, 'x'.repeat(200));
    expect({ size: store.size, numBytes: store.numBytes }).toEqual({ size: 0, numBytes: 0 });
  });

  test('keeps a turn as long as a later one follows on it', () => {
    const store = new ResponseStore(10_000);
    const first = new Turn(null, [message('m1', 'One')]);
    const second = new Turn(first, [message('m2', 'Two')]);
    put(store, 'a', first);
    put(store, 'b', second);
    store.delete('a');
    expect(store.findItem('m1')).toMatchObject({ id: 'm1' });
    expect(conversationOf(store.get('b')?.turn ?? null).map(({ id }) => id)).toEqual(['m1', 'm2']);
    store.delete('b');
    expect(store.findItem('m1')).toBeUndefined();
    expect(store.numBytes).toBe(0);
  });

  test('update revives nothing', () => {
    const store = new ResponseStore(1000);
    store.update({ id: 'a', response: {}, input: [], turn: null, cancel: null });
    expect(store.size).toBe(0);
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
        const store = new ResponseStore(2000);
        for (const [index, { id, previous, length, deletes }] of steps.entries()) {
          if (deletes) store.delete(String(id));
          else {
            const before = previous === null ? null : (store.get(String(previous))?.turn ?? null);
            const turn = new Turn(before, [message(`m${index}`, 'x'.repeat(length))]);
            put(store, String(id), turn, 'y'.repeat(length));
          }
          expect(store.numBytes).toBeLessThanOrEqual(2000);
        }
        for (let id = 0; id < 10; id++) store.delete(String(id));
        expect(store.numBytes).toBe(0);
        for (const index of steps.keys()) expect(store.findItem(`m${index}`)).toBeUndefined();
      }),
    );
  });
});
