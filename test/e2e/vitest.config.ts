import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { shared } from '../support/vitest-shared.ts';

/** Real servers and commands, killed, drained and behind balancers (`npm run test:e2e`). */
export default defineConfig({
  test: {
    ...shared,
    include: ['test/e2e/**/*.test.ts'],
    maxWorkers: Math.max(2, availableParallelism() - 1),
    env: { CHAIRLIFT_THREADS: '1' },
  },
});
