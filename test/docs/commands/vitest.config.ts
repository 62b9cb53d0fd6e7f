import { defineConfig } from 'vitest/config';
import { shared } from '../../support/vitest-shared.ts';

/** Commands of the documentation, as they are typed (`npm run test:docs`): one after the other, at their ports. */
export default defineConfig({
  test: {
    ...shared,
    include: ['test/docs/commands/*.test.ts'],
    fileParallelism: false,
    // Each command as soon as it has run.
    reporters: ['verbose', './test/support/skip-reporter.ts'],
    testTimeout: 900_000,
    hookTimeout: 900_000,
  },
});
