import type { FlagSpec } from './flag-spec.ts';
import { count, listOf, text } from './values.ts';

/** Flags of answers that `run` and `generate` request. */
export const CHAT_FLAGS = {
  system: {
    flags: '--system <text>',
    description: 'system message',
    schema: text.optional(),
  },
  image: {
    flags: '--image <file>',
    description: 'image that the question is about, for a model that sees; again for another one',
    schema: listOf(text).optional(),
    list: 'whole',
  },
  maxTokens: {
    flags: '--max-tokens <n>',
    short: 'n',
    description: 'most tokens of an answer',
    schema: count(1).optional(),
    defaultText: 'what fits',
  },
  seed: {
    flags: '--seed <n>',
    description: 'for the same texts again',
    schema: count(0, 2 ** 31).optional(),
    defaultText: 'another one each time',
  },
  raw: {
    flags: '--raw',
    description: 'complete the prompt as it is, without the chat template',
  },
  server: {
    flags: '--server',
    description: 'ask the server at --url, if one answers',
    default: true,
  },
} satisfies Record<string, FlagSpec>;
