import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Native code runs in these tests: a crash must take one test file down, not the runner.
    pool: 'forks',
    execArgv: ['--expose-gc'],
    testTimeout: 30_000,
    hookTimeout: 120_000,
  },
});
