import { expect, it } from 'vitest';
import { metered } from '../../../../src/server/generation/stages/metered.ts';
import type { Next } from '../../../../src/server/generation/stages/stage.ts';
import { Usage } from '../../../../src/server/rates/usage.ts';
import { delta, follow, generationOf, refuse } from '../support/one-generation.ts';

/** A generation whose client has a meter that notes what it is told. */
function meteredGeneration() {
  const told: string[] = [];
  const generation = generationOf();
  const meter = {
    async charge(most: number) {
      told.push(`charge ${most}`);
      return async (used: number) => void told.push(`settle ${used}`);
    },
  };
  return { told, generation: { ...generation, caller: { ...generation.caller, meter } } };
}

async function read(stage: ReturnType<typeof metered>, next: Next) {
  const { told, generation } = meteredGeneration();
  for await (const _ of await stage(generation, next)) told.push('delta');
  return told;
}

it('charges for the most before, and settles for what it came to', async () => {
  const usage = new Usage();
  const told = await read(metered({ usage }), follow(delta(1), delta(2, 3)).next);
  expect(told).toEqual(['charge 13', 'delta', 'delta', 'settle 6']);
  expect(usage.list()).toMatchObject([
    { client: 'ann', model: 'm', requests: 1, cachedRequests: 0, promptTokens: 3, outputTokens: 3 },
  ]);
});

it('settles for the part of a run that others pay too, without their prompt', async () => {
  const usage = new Usage();
  const { next } = follow(delta(1), delta(2, 3));
  const told = await read(metered({ usage }), (generation) => {
    generation.charge.share({ isOwn: false, chargedTokens: () => 1 });
    return next(generation);
  });
  expect(told.at(-1)).toBe('settle 1');
  expect(usage.list()).toMatchObject([{ cachedRequests: 1, promptTokens: 0, outputTokens: 1 }]);
});

it('gives everything back to a request that is refused', async () => {
  const { told, generation } = meteredGeneration();
  const stage = metered({ usage: new Usage() });
  await expect(stage(generation, refuse(new Error('full')))).rejects.toThrow('full');
  expect(told).toEqual(['charge 13', 'settle 0']);
});

it('settles for a generation that is ended before anybody reads it', async () => {
  const { told, generation } = meteredGeneration();
  await metered({ usage: new Usage() })(generation, follow(delta(1)).next);
  generation.ending.abort(new Error('ended'));
  expect(told).toEqual(['charge 13', 'settle 3']);
});
