import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import {
  type Deltas,
  lineOf,
  type Stage,
  watchGeneration,
} from '../../../../src/server/generation/stages/stage.ts';
import { delta, follow, generationOf } from '../support/one-generation.ts';

it('goes through stages in order, and back', async () => {
  const way: string[] = [];
  const named =
    (name: string): Stage =>
    async (generation, next) => {
      way.push(`${name} in`);
      const deltas = await next(generation);
      way.push(`${name} out`);
      return deltas;
    };
  const { next, seen } = follow();
  await lineOf([named('a'), named('b')], next)(generationOf());
  expect(way).toEqual(['a in', 'b in', 'b out', 'a out']);
  expect(seen).toHaveLength(1);
});

it.each([
  ['is read to its end', async (deltas: Deltas) => void (await deltas.next(), await deltas.next())],
  ['is left', async (deltas: Deltas) => void (await deltas.return?.())],
])('tells once of the end of a generation that %s', async (_, read) => {
  const generation = generationOf();
  let numEnds = 0;
  const { next } = follow(delta(1));
  const onEnd = (): void => void numEnds++;
  const watched = watchGeneration(await next(generation), generation, { onEnd });
  const numListeners = () => getEventListeners(generation.signal, 'abort').length;
  expect(numListeners()).toBe(1);
  await read(watched);
  // Node would keep a signal made of others, and all that it leads to.
  expect(numListeners()).toBe(0);
  generation.ending.abort(new Error('too late'));
  expect(numEnds).toBe(1);
});

it('tells of the end of a generation that nobody has begun to read', async () => {
  const generation = generationOf();
  let numEnds = 0;
  const { next } = follow(delta(1));
  watchGeneration(await next(generation), generation, { onEnd: () => void numEnds++ });
  generation.ending.abort(new Error('ended'));
  expect(numEnds).toBe(1);
});
