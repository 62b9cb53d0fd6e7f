import { expect, it } from 'vitest';
import type { AnswerFollower } from '../../../../src/front/caller.ts';
import { serviceClasses } from '../../../../src/front/service-classes/service-class.ts';
import { DEFAULT_SERVER_CONFIG } from '../../../../src/server/config.ts';
import { granted } from '../../../../src/server/generation/stages/granted.ts';
import { ServiceTiers } from '../../../../src/server/tiers/service-tiers.ts';
import { follow, generationOf } from '../support/one-generation.ts';

const stage = granted({
  tiers: new ServiceTiers(serviceClasses()),
  config: { ...DEFAULT_SERVER_CONFIG, version: '0' },
});
const answer: AnswerFollower = {
  id: 'a',
  created: 0,
  seed: 99n,
  start: () => [],
  record() {},
  nextEventNumber: () => 0,
};

it("marks prompts as the client's, whatever they say", async () => {
  const { next, seen } = follow();
  await stage(generationOf({}, { client: 'bob', cacheSalt: 'mine' }), next);
  const [prompt] = seen[0]?.request.prompts ?? [];
  expect(prompt).toMatchObject({ client: 'ann', cacheSalt: '["ann","mine"]' });
  expect(prompt?.record).toBe(seen[0]?.caller.record);
});

it.each([
  ['leaves the seed to the server, gets that of an answer that can move', {}, 99n],
  ['names its seed, keeps it', { hasSeed: true }, 7n],
])('a request that %s', async (_, fields, seed) => {
  const { next, seen } = follow();
  const generation = generationOf({}, fields);
  await stage({ ...generation, caller: { ...generation.caller, answer } }, next);
  expect(seen[0]?.request.prompts[0]?.sampling.seed).toBe(seed);
});

it('refuses a class that there is not', () => {
  const { next } = follow();
  expect(() => stage(generationOf({}, { serviceTier: 'gold' }), next)).toThrow('service_tier');
});
