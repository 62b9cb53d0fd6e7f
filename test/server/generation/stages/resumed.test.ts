import { expect, it } from 'vitest';
import type { AnswerFollower } from '../../../../src/front/caller.ts';
import type { ResumedChoice } from '../../../../src/front/generation/resumption.ts';
import { resumed } from '../../../../src/server/generation/stages/resumed.ts';
import { delta, follow, generationOf } from '../support/one-generation.ts';

it('goes on where the answer stands, as its client asked, and records what is added', async () => {
  const choices = [{} as ResumedChoice];
  const recorded: number[] = [];
  const started: (readonly unknown[])[] = [];
  const answer: AnswerFollower = {
    id: 'a',
    created: 0,
    seed: 0n,
    start(...all) {
      started.push(all);
      return choices;
    },
    record: ({ tokenIds }) => void recorded.push(...tokenIds),
    nextEventNumber: () => 0,
  };
  const generation = generationOf({ asked: generationOf().request });
  const following = { ...generation, caller: { ...generation.caller, answer } };
  const rest = follow(delta(1), delta(2));
  for await (const _ of await resumed({ contentId: 'c' })(following, rest.next));
  expect(started[0]?.[0]).toBe(generation.asked);
  expect(started[0]?.[1]).toMatchObject({ id: 'm', adapter: null, contentId: 'c' });
  expect(rest.seen[0]?.request.resumed).toBe(choices);
  expect(recorded).toEqual([1, 2]);
});
