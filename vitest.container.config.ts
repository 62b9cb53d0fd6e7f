import { defineConfig } from 'vitest/config';

/** The images (`npm run test:container`), which scripts/container/build.ts has built. */
export default defineConfig({
  test: {
    include: ['test/container/**/*.test.ts'],
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
    setupFiles: ['./test/support/patience.ts'],
  },
});
