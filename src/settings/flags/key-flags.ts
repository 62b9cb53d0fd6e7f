import { digestOf, unnamedKeys } from '../../server/auth/api-keys.ts';
import type { FlagSpec } from './flag-spec.ts';
import { count, listOf, text } from './values.ts';

/** Flags for clients' access, and how much each may use. */
export const KEY_FLAGS = {
  apiKey: {
    flags: '--api-key <keys>',
    description: 'key that clients must send, or several',
    // From here on only digests are known.
    schema: listOf(text)
      .transform((keys) => unnamedKeys(keys))
      .optional(),
    list: 'commas',
    secret: 'whole',
    isBasic: true,
    defaultText: 'none',
  },
  apiKeyFile: {
    flags: '--api-key-file <file>',
    description: 'keys that clients must send: `name key` on each line',
    schema: text.optional(),
    isBasic: true,
  },
  adminApiKey: {
    flags: '--admin-api-key <key>',
    description: 'key for everything; if set, the only one for /metrics; loads and unloads models',
    schema: text.transform(digestOf).optional(),
    secret: 'whole',
    defaultText: 'none',
  },
  adminApiKeyFile: {
    flags: '--admin-api-key-file <file>',
    description: 'file with that key alone',
    schema: text.optional(),
  },
  rateLimitRequests: {
    flags: '--rate-limit-requests <n>',
    description: 'requests per minute of each key, or of each address on a server without keys',
    schema: count(1).optional(),
    defaultText: 'no limit',
  },
  rateLimitTokens: {
    flags: '--rate-limit-tokens <n>',
    description: 'tokens per minute of each key or address, prompts and answers together',
    schema: count(1).optional(),
    defaultText: 'no limit',
  },
} satisfies Record<string, FlagSpec>;
