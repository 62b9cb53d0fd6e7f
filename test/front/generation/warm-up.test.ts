import { expect, test } from 'vitest';
import type { EngineRequest } from '../../../src/engine/request.ts';
import { warmUp } from '../../../src/front/generation/warm-up.ts';

const shape = { maxNumSeqs: 6, maxModelLen: 100, maxNumBatchedTokens: 512, vocabSize: 50 };

/** Requests of a warm-up to an engine: prompts, and how many at once. */
async function asked(
  ...[mode, changes = {}, msPerToken = 0]: readonly ['off' | 'quick' | 'full', object?, number?]
) {
  let now = 0;
  const prompts: number[] = [];
  const atOnce: number[] = [];
  let numRunning = 0;
  const engine = {
    async *generate({ promptTokenIds, maxTokens }: Omit<EngineRequest, 'id'>) {
      expect(promptTokenIds.length + maxTokens).toBeLessThanOrEqual(shape.maxModelLen);
      expect(promptTokenIds.every((id) => id < shape.vocabSize)).toBe(true);
      numRunning++;
      if (numRunning === 1) now += promptTokenIds.length * maxTokens * msPerToken;
      await new Promise(setImmediate);
      if (maxTokens === 1) prompts.push(promptTokenIds.length);
      else atOnce.push(numRunning);
      await new Promise(setImmediate);
      numRunning--;
      yield { tokenIds: [0], finishReason: 'length' as const };
    },
  };
  await warmUp(engine, mode, { ...shape, ...changes }, () => now);
  return { prompts, atOnce: [...new Set(atOnce)] };
}

test('full runs every power of two up to what fits, of tokens and of sequences', async () => {
  expect(await asked('full')).toEqual({
    prompts: [1, 2, 4, 8, 16, 32, 64, 96],
    atOnce: [1, 2, 4, 6],
  });
});

test('quick runs a few, up to the largest', async () => {
  expect(await asked('quick')).toEqual({ prompts: [32, 96], atOnce: [1, 6] });
  expect(await asked('quick', { maxModelLen: 20, maxNumSeqs: 1 })).toEqual({
    prompts: [16],
    atOnce: [1],
  });
});

test('quick takes shorter prompts and fewer sequences of slow models', async () => {
  expect(await asked('quick', {}, 1)).toEqual({ prompts: [32, 96], atOnce: [1, 6] });
  // A second is for 100 tokens: 32 are known then, and 68 left.
  expect(await asked('quick', {}, 10)).toEqual({ prompts: [32, 68], atOnce: [1] });
  // Hardly more is left than is known.
  expect(await asked('quick', {}, 15)).toEqual({ prompts: [32], atOnce: [1] });
  expect(await asked('quick', {}, 100)).toEqual({ prompts: [32], atOnce: [1] });
});

test('off runs nothing, and so does a model without room for a prompt', async () => {
  expect(await asked('off')).toEqual({ prompts: [], atOnce: [] });
  expect(await asked('full', { maxModelLen: 4 })).toEqual({ prompts: [], atOnce: [] });
});
