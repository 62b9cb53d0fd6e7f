import type { FlagSpec } from './flag-spec.ts';

/** Flags of a health check. */
export const PROBE_FLAGS = {
  ready: {
    flags: '--ready',
    description: 'whether new requests would run at once, in place of whether it is alive',
    scope: 'probe',
  },
} satisfies Record<string, FlagSpec>;
