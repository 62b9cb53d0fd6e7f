import { hasMachine, MACHINE } from '../../scripts/arm64/machine.ts';
import { defineConfig } from 'vitest/config';
import { shared } from '../support/vitest-shared.ts';

/**
 * Tests on an emulated ARM64 machine (`npm run test:arm64`), after scripts/arm64/fetch.ts: vitest itself
 * and the compiling of sources stay on this one, the processes of the tests are emulated.
 */
if (!hasMachine) throw new Error('npx tsx scripts/arm64/fetch.ts comes first');
process.execPath = MACHINE.wrapper;

export default defineConfig({
  test: {
    ...shared,
    // Tests of native code: JavaScript alone does the same on all machines, and takes minutes here.
    include: ['test/arm64/**/*.test.ts', 'test/ort/**/*.test.ts'],
    execArgv: ['--expose-gc'],
    maxWorkers: 2,
    env: { CHAIRLIFT_THREADS: '1' },
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
