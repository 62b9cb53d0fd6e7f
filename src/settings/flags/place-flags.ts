import type { FlagSpec } from './flag-spec.ts';
import { text } from './values.ts';

/** Where models come from, and where they are kept. */
export const PLACE_FLAGS = {
  cacheDir: {
    flags: '--cache-dir <folder>',
    description: 'where downloaded and built models are kept',
    schema: text.optional(),
    variables: ['CHAIRLIFT_CACHE'],
    defaultText: "chairlift in the user's cache folder",
  },
  offline: {
    flags: '--offline',
    description: 'ask no hub: only what is on this machine',
    variables: ['HF_HUB_OFFLINE'],
  },
  hfToken: {
    flags: '--hf-token <token>',
    description: 'token for private and gated models of the hub',
    schema: text.optional(),
    secret: 'whole',
    variables: ['HF_TOKEN'],
    defaultText: 'none',
  },
  hfTokenFile: {
    flags: '--hf-token-file <file>',
    description: 'file with that token alone',
    schema: text.optional(),
    variables: ['HF_TOKEN_PATH'],
  },
} satisfies Record<string, FlagSpec>;
