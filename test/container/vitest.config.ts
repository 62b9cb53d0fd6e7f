import { defineConfig } from 'vitest/config';
import { shared } from '../support/vitest-shared.ts';

/** The images (`npm run test:container`), which scripts/container/build.ts has built. */
export default defineConfig({
  test: {
    ...shared,
    include: ['test/container/**/*.test.ts'],
    fileParallelism: false,
  },
});
