import type { ViteUserConfig } from 'vitest/config';

/** Settings that all suites have in common. */
export const shared = {
  // Native code runs in tests: a crash must take one file down, not the runner.
  pool: 'forks',
  // For what hangs: how long a test takes says little on a machine with other work.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 20_000 } },
  setupFiles: ['./test/support/patience.ts'],
  reporters: ['default', './test/support/skip-reporter.ts'],
} satisfies ViteUserConfig['test'];
