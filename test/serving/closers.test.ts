import { expect, test } from 'vitest';
import { Closers } from '../../src/serving/closers.ts';

test('closes in the reverse order, one after the other, and once', async () => {
  const closed: string[] = [];
  const closers = new Closers();
  closers.add(() => closed.push('first'));
  closers.add(async () => {
    await Promise.resolve();
    closed.push('second');
  });
  await closers.close();
  await closers.close();
  expect(closed).toEqual(['second', 'first']);
});

test('a part that fails leaves none of the others open', async () => {
  const closed: string[] = [];
  const closers = new Closers();
  closers.add(() => closed.push('first'));
  closers.add(() => Promise.reject(new Error('stuck')));
  await expect(closers.close()).rejects.toThrow('stuck');
  expect(closed).toEqual(['first']);
});
