import { expect, it } from 'vitest';
import { isTimeout } from '../../../../src/front/deadline.ts';
import { bounded } from '../../../../src/server/generation/stages/bounded.ts';
import type { Next } from '../../../../src/server/generation/stages/stage.ts';
import { delta, follow, generationOf, refuse } from '../support/one-generation.ts';

it('ends with its client, and with whoever ends it', async () => {
  for (const ender of ['caller', 'ending'] as const) {
    const leaving = new AbortController();
    const generation = generationOf();
    const rest = follow();
    const caller = { ...generation.caller, signal: leaving.signal };
    await bounded({ ...generation, caller }, rest.next);
    const signal = rest.seen[0]?.signal;
    expect(signal?.aborted).toBe(false);
    (ender === 'caller' ? leaving : generation.ending).abort(new Error('over'));
    expect(signal?.reason).toMatchObject({ message: 'over' });
  }
});

it('ends at its deadline', async () => {
  const rest = follow();
  await bounded(generationOf({}, { timeoutMs: 1 }), rest.next);
  const signal = rest.seen[0]?.signal;
  await new Promise((resolve) => signal?.addEventListener('abort', resolve, { once: true }));
  expect(isTimeout(signal?.reason)).toBe(true);
});

it('counts as started until it is over', async () => {
  const generation = generationOf();
  const deltas = await bounded(generation, follow(delta(1)).next);
  expect([...generation.started]).toEqual([generation.ending]);
  for await (const _ of deltas) expect(generation.started.size).toBe(1);
  expect(generation.started.size).toBe(0);
});

it('counts no longer as started once it is refused', async () => {
  const generation = generationOf();
  await expect(bounded(generation, refuse(new Error('full')))).rejects.toThrow('full');
  expect(generation.started.size).toBe(0);
});

it('ends what was begun when a later stage fails', async () => {
  const generation = generationOf();
  const rest = follow(delta(1));
  const failing: Next = async (passed) => {
    await rest.next(passed);
    throw new Error('broken');
  };
  await expect(bounded(generation, failing)).rejects.toThrow('broken');
  expect(rest.seen[0]?.signal.reason).toMatchObject({ message: 'broken' });
});
