import { defineConfig } from 'vitest/config';

/** Attacks on real servers (`npm run test:hostile`): one at a time, since what they measure is time. */
export default defineConfig({
  test: {
    include: ['test/hostile/**/*.test.ts'],
    pool: 'forks',
    fileParallelism: false,
    globalSetup: './test/hostile/support/table.ts',
    testTimeout: 180_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
    setupFiles: ['./test/support/patience.ts'],
    // A machine with other work may stall by itself; an attack that works, works twice.
    retry: 2,
  },
});
