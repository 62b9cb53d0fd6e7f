import { isSoundAddress, socketPathOf } from '../../net/unix-address.ts';
import type { FlagSpec } from './flag-spec.ts';
import { listOf, readable, text } from './values.ts';

const url = readable('an address such as http://127.0.0.1:8000 or unix:/PATH', (given) => {
  if (socketPathOf(given) !== null && isSoundAddress(given)) return new URL(given);
  return /^https?:\/\//.test(given) && URL.canParse(given)
    ? new URL(given.endsWith('/') ? given : `${given}/`)
    : undefined;
});

/** In the environment and in files the server's own flags have these names. */
const SCOPE = 'client';

const KEY = {
  flags: '--api-key <key>',
  description: 'key to send; the first of several',
  schema: listOf(text)
    .transform(([first = '']) => first)
    .optional(),
  list: 'commas',
  secret: 'whole',
  scope: SCOPE,
  variables: ['CHAIRLIFT_SERVER_KEY', 'CHAIRLIFT_API_KEY'],
} as const satisfies FlagSpec;

/** Which server a command asks. */
export const CLIENT_FLAGS = {
  url: {
    flags: '--url <address>',
    description: 'the server to ask',
    schema: url.optional(),
    defaultText: 'http://127.0.0.1:8000',
  },
  serverKey: KEY,
  benchKey: { ...KEY, variables: [...KEY.variables, 'OPENAI_API_KEY'] },
  serverKeyFile: {
    flags: '--api-key-file <file>',
    description: 'file with that key alone',
    schema: text.optional(),
    scope: SCOPE,
    variables: ['CHAIRLIFT_SERVER_KEY_FILE'],
  },
  askedModel: {
    flags: '--model <name>',
    short: 'm',
    description: 'which of its models to ask for',
    schema: text.optional(),
    scope: SCOPE,
    defaultText: 'its first',
  },
} satisfies Record<string, FlagSpec>;
