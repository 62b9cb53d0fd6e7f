import { expect, test, vi } from 'vitest';
import { IDLE_STATS } from '../../../src/front/engine-process/engine-contract.ts';
import { StepListeners } from '../../../src/front/engine-process/step-listeners.ts';

test('a listener that throws keeps no other from hearing of a step, and its error is told', () => {
  const later = vi.spyOn(globalThis, 'queueMicrotask').mockImplementation(() => {});
  const listeners = new StepListeners();
  const error = new Error('went wrong');
  const heard = vi.fn<() => void>();
  const remove = listeners.add(() => {
    throw error;
  });
  listeners.add(heard);
  listeners.tell(IDLE_STATS);
  expect(heard).toHaveBeenCalledOnce();
  expect(() => later.mock.calls[0]?.[0]()).toThrow(error);
  remove();
  listeners.tell(IDLE_STATS);
  expect(later).toHaveBeenCalledOnce();
  later.mockRestore();
});
