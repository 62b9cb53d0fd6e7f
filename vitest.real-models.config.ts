import { defineConfig } from 'vitest/config';

/** Models that others trained (`npm run test:real-models`), after scripts/real-models/fetch.ts. */
export default defineConfig({
  test: {
    include: ['test/real-models/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    env: { CHAIRLIFT_THREADS: '2' },
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 20_000 } },
    setupFiles: ['./test/support/patience.ts'],
  },
});
