import { afterEach, expect, test, vi } from 'vitest';
import { ProcessWatch } from '../../../src/server/status/process-use.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

test('a look at the processes without a free descriptor keeps the memory of the last one', async () => {
  const watch = new ProcessWatch(() => [process.pid]);
  await watch.look();
  const { rssBytes } = watch.use.front;
  expect(rssBytes).toBeGreaterThan(0);
  const noDescriptor = Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' });
  vi.spyOn(process.memoryUsage, 'rss').mockImplementation(() => {
    throw noDescriptor;
  });
  await watch.look();
  expect(watch.use.front.rssBytes).toBe(rssBytes);
  expect(new ProcessWatch(() => []).use.front.rssBytes).toBe(0);
});
