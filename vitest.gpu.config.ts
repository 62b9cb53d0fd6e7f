import { defineConfig } from 'vitest/config';

/**
 * Models on WebGPU (`npm run test:gpu`), on a Vulkan driver that computes on the CPU: as slow as that
 * sounds, and more than Node and npm install.
 */
export default defineConfig({
  test: {
    include: ['test/gpu/**/*.test.ts'],
    pool: 'forks',
    // The driver computes on all cores by itself.
    maxWorkers: 2,
    env: { CHAIRLIFT_THREADS: '1' },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
    setupFiles: ['./test/support/patience.ts'],
  },
});
