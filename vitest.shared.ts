import type { ViteUserConfig } from 'vitest/config';

/** What all suites have in common. */
export const shared = {
  // Native code runs in tests: a crash must take one file down, not the runner.
  pool: 'forks',
  // For what hangs: how long a test takes says little on a machine with other work.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 20_000 } },
  setupFiles: ['./test/support/patience.ts'],
  // Continuous integration runs a test that fails again. It says so, for that is a fault as well.
  retry: Number(process.env['CHAIRLIFT_RETRIES'] ?? 0),
  reporters: ['default', './test/support/flaky-reporter.ts'],
} satisfies ViteUserConfig['test'];
