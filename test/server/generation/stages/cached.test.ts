import { expect, it } from 'vitest';
import { ANY_ANSWER, type CacheOutcome } from '../../../../src/front/caller.ts';
import type {
  AnswerPlan,
  GenerationCache,
} from '../../../../src/front/response-cache/generation-cache.ts';
import { cached } from '../../../../src/server/generation/stages/cached.ts';
import type { Generation } from '../../../../src/server/generation/stages/stage.ts';
import { Usage } from '../../../../src/server/rates/usage.ts';
import { delta, follow, generationOf } from '../support/one-generation.ts';

/** A stage over a cache that plans so for every request. */
function stageOver(plan: AnswerPlan | null) {
  const usage = new Usage();
  const answers = { planOf: () => plan } as unknown as GenerationCache;
  return { usage, stage: cached({ answers, usage, buildId: 'b' }) };
}

function planThatFinds(deltas: readonly ReturnType<typeof delta>[] | null): AnswerPlan {
  return {
    async find() {
      if (deltas === null) return null;
      const found = follow(...deltas);
      return { deltas: (await found.next(generationOf())) as never, ageMs: 5 };
    },
    run: () => expect.unreachable(),
  };
}

/** A generation that notes what it is told of caches. */
function askingGeneration(wish: Partial<typeof ANY_ANSWER> = {}) {
  const outcomes: CacheOutcome[] = [];
  const generation = generationOf();
  const cache = { ...ANY_ANSWER, ...wish, tell: (outcome: CacheOutcome) => outcomes.push(outcome) };
  const asking: Generation = { ...generation, caller: { ...generation.caller, cache } };
  return { outcomes, asking };
}

it('answers with what it finds, and nothing is computed', async () => {
  const { stage, usage } = stageOver(planThatFinds([delta(1, 2)]));
  const { asking, outcomes } = askingGeneration();
  const rest = follow(delta(9));
  const deltas = await stage(asking, rest.next);
  expect((await deltas.next()).value).toMatchObject({ tokenIds: [1, 2] });
  expect(rest.seen).toEqual([]);
  expect(outcomes).toEqual([{ status: 'hit', ageMs: 5 }]);
  expect(usage.list()).toMatchObject([{ cachedRequests: 1, outputTokens: 0 }]);
});

it('hands on how an answer is to be kept', async () => {
  const plan = planThatFinds(null);
  const rest = follow();
  await stageOver(plan).stage(askingGeneration().asking, rest.next);
  expect(rest.seen[0]?.plan).toBe(plan);
});

it('tells of a request that is not looked up', async () => {
  const { asking, outcomes } = askingGeneration();
  const rest = follow();
  await stageOver(null).stage(asking, rest.next);
  expect(outcomes).toEqual([{ status: 'bypass' }]);
  expect(rest.seen[0]?.plan).toBeNull();
});

it.each([
  ['an adapter', { adapter: { index: 1, id: 'x', scale: 1 } as never }],
  [
    'an answer that began elsewhere',
    { request: { ...generationOf().request, resumed: [{} as never] } },
  ],
])('looks up nothing for %s', async (_, parts) => {
  const rest = follow();
  await stageOver(planThatFinds([delta(1)])).stage(generationOf(parts), rest.next);
  expect(rest.seen[0]?.plan).toBeNull();
});

it('refuses where only a stored answer would do', async () => {
  const { asking } = askingGeneration({ onlyFound: true });
  const refused = stageOver(planThatFinds(null)).stage(asking, follow().next);
  await expect(refused).rejects.toMatchObject({ name: 'NotCachedError' });
});
