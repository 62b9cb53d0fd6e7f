import { defineConfig } from 'vitest/config';
import { shared } from '../support/vitest-shared.ts';

/** A real Kubernetes (`npm run test:kubernetes`), which scripts/kubernetes/build.ts has built. */
export default defineConfig({
  test: {
    ...shared,
    include: ['test/kubernetes/**/*.test.ts'],
    fileParallelism: false,
    // A rollout waits for each pod to drain, and starts the next.
    testTimeout: 900_000,
    hookTimeout: 900_000,
  },
});
