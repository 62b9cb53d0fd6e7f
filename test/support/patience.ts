/**
 * Set up before each file: what is waited for may take 20 seconds, on a machine with other work, where
 * Vitest gives up after one. `expect.poll` has the same in the configuration.
 */
import { vi } from 'vitest';

const PATIENCE_MS = 20_000;

const { waitFor } = vi;
vi.waitFor = (callback, options = PATIENCE_MS) => waitFor(callback, options);
