import { defineConfig } from 'vitest/config';
import { shared } from '../support/vitest-shared.ts';

/**
 * Models on WebGPU (`npm run test:gpu`), on a Vulkan driver that computes on the CPU: as slow as that
 * sounds, and more than Node and npm install.
 */
export default defineConfig({
  test: {
    ...shared,
    include: ['test/gpu/**/*.test.ts'],
    // The driver computes on all cores by itself.
    maxWorkers: 2,
    env: { CHAIRLIFT_THREADS: '1' },
  },
});
