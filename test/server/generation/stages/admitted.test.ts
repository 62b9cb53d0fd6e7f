import { expect, it } from 'vitest';
import { admitted } from '../../../../src/server/generation/stages/admitted.ts';
import { paced } from '../../../../src/server/generation/stages/paced.ts';
import type { Deltas } from '../../../../src/server/generation/stages/stage.ts';
import { delta, follow, generationOf } from '../support/one-generation.ts';

async function* failing(first: Error | null): Deltas {
  if (first) throw first;
  yield delta(1);
  throw new Error('later');
}

it('is refused before it has an answer', async () => {
  const next = async (): Promise<Deltas> => failing(new Error('full'));
  await expect(admitted(generationOf(), next)).rejects.toThrow('full');
});

it('fails later within its deltas, none of which is lost', async () => {
  const deltas = await admitted(generationOf(), async () => failing(null));
  expect((await deltas.next()).value).toMatchObject({ tokenIds: [1] });
  await expect(deltas.next()).rejects.toThrow('later');
});

it('is told in pieces of the size that was asked for', async () => {
  const { request } = generationOf();
  const generation = generationOf({ asked: { ...request, streamInterval: 2 } });
  const deltas = await paced(generation, follow(delta(1), delta(2), delta(3)).next);
  const sizes: number[] = [];
  for await (const { tokenIds } of deltas) sizes.push(tokenIds.length);
  expect(sizes).toEqual([1, 2]);
});
