import { defineConfig } from 'vitest/config';
import { shared } from '../support/vitest-shared.ts';

/** Attacks on real servers (`npm run test:hostile`): one at a time, since what they measure is time. */
export default defineConfig({
  test: {
    ...shared,
    include: ['test/hostile/**/*.test.ts'],
    fileParallelism: false,
    globalSetup: './test/hostile/support/table.ts',
    testTimeout: 180_000,
  },
});
