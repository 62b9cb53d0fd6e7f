import { defineConfig } from 'vitest/config';
import { shared } from '../support/vitest-shared.ts';

/** Models that others trained (`npm run test:real-models`), after scripts/real-models/fetch.ts. */
export default defineConfig({
  test: {
    ...shared,
    include: ['test/real-models/**/*.test.ts'],
    maxWorkers: 1,
    env: { CHAIRLIFT_THREADS: '2' },
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
