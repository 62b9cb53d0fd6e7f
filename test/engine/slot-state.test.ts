import { expect, test } from 'vitest';
import { SlotCache } from '../../src/engine/kv-cache/slot-cache.ts';
import { Sequence } from '../../src/engine/sequence.ts';
import { slotStates } from '../../src/engine/slot-state.ts';
import { engineRequest } from '../support/engine-requests.ts';

const text = (length: number, first: number) => Int32Array.from({ length }, (_, i) => first + i);

test('each slot has what runs in it, or how much of an ended text it keeps, and no text', () => {
  const cache = new SlotCache({ numSlots: 3, capacity: 64 });
  const reserve = (id: number, promptTokenIds: Int32Array): Sequence => {
    const sequence = new Sequence(engineRequest({ id, promptTokenIds, maxTokens: 9, priority: 2 }));
    if (!cache.reserve(sequence, 0)) throw new Error('no slot');
    return sequence;
  };
  const first = reserve(1, text(20, 1000));
  const second = reserve(2, text(32, 2000));
  second.numComputedTokens = 32;
  cache.registerBlocks(second);
  cache.release(second, true);
  first.numComputedTokens = 20;
  first.numCachedTokens = 16;
  first.append(7);
  const states = slotStates(cache, [first]);
  expect(states).toEqual([
    {
      slot: 0,
      numKeptTokens: 0,
      sequence: {
        id: 1,
        numPromptTokens: 20,
        numCachedTokens: 16,
        numOutputTokens: 1,
        numComputedTokens: 20,
        maxTokens: 9,
        priority: 2,
      },
    },
    { slot: 1, sequence: null, numKeptTokens: 32 },
    { slot: 2, sequence: null, numKeptTokens: 0 },
  ]);
});
