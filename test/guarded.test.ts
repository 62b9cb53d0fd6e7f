import { expect, test, vi } from 'vitest';
import { cut, guarded } from '../src/guarded.ts';

const error = new Error('went wrong');
const throws = (): never => {
  throw error;
};

test('what a listener throws goes to its own end, with what it was called with', () => {
  const failed = vi.fn<(...args: unknown[]) => void>();
  guarded<readonly [number, string]>(throws, failed)(1, 'a');
  expect(failed.mock.calls).toEqual([[error, 1, 'a']]);
});

test('a connection that went wrong is closed, and the error told', () => {
  const connection = { destroy: vi.fn<() => void>() };
  expect(() => guarded(throws, () => cut(error, connection))()).toThrow(error);
  expect(connection.destroy).toHaveBeenCalledOnce();
});
