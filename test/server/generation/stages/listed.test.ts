import { expect, it } from 'vitest';
import { RunningRequests } from '../../../../src/server/operating/running-requests.ts';
import { listed } from '../../../../src/server/generation/stages/listed.ts';
import { counted } from '../../../../src/server/generation/stages/recorded.ts';
import { delta, follow, generationOf, refuse } from '../support/one-generation.ts';

it('is on the list, with its tokens so far, until it is over', async () => {
  const running = new RunningRequests();
  const deltas = await listed({ running })(generationOf(), follow(delta(1), delta(2, 3)).next);
  const seen: number[] = [];
  for await (const _ of deltas) seen.push(...running.list('ann').map((one) => one.outputTokens));
  expect(seen).toEqual([1, 3]);
  expect(running.size).toBe(0);
});

it('can be ended from the list', async () => {
  const running = new RunningRequests();
  const generation = generationOf();
  const caller = { ...generation.caller, requestId: 'r' };
  await listed({ running })({ ...generation, caller }, follow(delta(1)).next);
  expect(running.abort('r', 'ann')).toBe(1);
  expect(generation.ending.signal.aborted).toBe(true);
  expect(running.size).toBe(0);
});

it('never comes on the list where it is refused', async () => {
  const running = new RunningRequests();
  const refused = listed({ running })(generationOf(), refuse(new Error('full')));
  await expect(refused).rejects.toThrow('full');
  expect(running.size).toBe(0);
});

it('counts what is found in the cache once for each prompt, and tokens of all choices', async () => {
  const generation = generationOf({ request: { ...generationOf().request, numChoices: 2 } });
  const cachedBy = (choice: number) => ({ ...delta(1), choice, numCachedTokens: 16 });
  const rest = follow(cachedBy(0), cachedBy(1), cachedBy(2), cachedBy(3));
  for await (const _ of await counted(generation, rest.next));
  expect(generation.caller.record).toMatchObject({ numCachedTokens: 32, numOutputTokens: 4 });
});
