import { setImmediate } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { coalesced } from '../../../src/front/engine-process/coalesced.ts';

test('calls of a turn are one, and an action that throws is called again in the next', async () => {
  const error = new Error('went wrong');
  const action = vi.fn<() => void>(() => {
    throw error;
  });
  const failed = vi.fn<(error: unknown) => void>();
  const call = coalesced(action, failed);
  for (const turn of [1, 2]) {
    call();
    call();
    await setImmediate();
    expect(action).toHaveBeenCalledTimes(turn);
    expect(failed.mock.calls).toEqual(Array.from({ length: turn }, () => [error]));
  }
});
