import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** Real servers and commands, killed, drained and behind balancers (`npm run test:e2e`). */
export default defineConfig({
  test: {
    include: ['test/e2e/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: Math.max(2, availableParallelism() - 1),
    env: { CHAIRLIFT_THREADS: '1' },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
    setupFiles: ['./test/support/patience.ts'],
  },
});
