/** The flags of commands that work through a file, or make a model. */
import type { FlagSpec } from './flag-spec.ts';
import { count, decimal, text } from './values.ts';

export const BATCH_FLAGS = {
  inputFile: {
    flags: '--input-file <file>',
    short: 'i',
    description: 'requests: lines of /v1/batches',
    schema: text,
    isRequired: true,
  },
  outputFile: {
    flags: '--output-file <file>',
    short: 'o',
    description: 'results, failed ones too',
    schema: text,
    isRequired: true,
  },
} satisfies Record<string, FlagSpec>;

export const DISTILL_FLAGS = {
  teacher: {
    flags: '--teacher <model>',
    description: 'model, as --model of other commands',
    schema: text,
    isRequired: true,
  },
  prompts: {
    flags: '--prompts <file>',
    description: 'JSON lines of {"prompt"}, {"messages"} or {"text"}',
    schema: text,
    isRequired: true,
  },
  targets: {
    flags: '--out <file>',
    description: 'soft targets: JSON lines in gzip (docs/distillation.md)',
    schema: text,
    scope: 'distill-data',
    isRequired: true,
  },
  topLogprobs: {
    flags: '--top-logprobs <n>',
    description: 'likeliest tokens of each position',
    // A student learns little from what its teacher holds less likely than that.
    schema: count(1, 256),
    default: 32,
  },
  promptLogprobs: {
    flags: '--prompt-logprobs',
    description: "those of the prompts' tokens, too; of a text they always are",
  },
  distillTokens: {
    flags: '--max-tokens <n>',
    description: 'most tokens to generate for a line that does not say',
    schema: count(1),
    scope: 'distill-data',
    default: 256,
  },
  distillTemperature: {
    flags: '--temperature <t>',
    description: 'to draw tokens by; 0 is greedy',
    schema: decimal({ min: 0, max: 2 }),
    scope: 'distill-data',
    default: 1,
  },
  distillTopP: {
    flags: '--top-p <p>',
    description: 'draw from the smallest set of tokens that reaches this',
    schema: decimal({ above: 0, max: 1 }),
    scope: 'distill-data',
    default: 1,
  },
} satisfies Record<string, FlagSpec>;

export const OPTIMIZE_FLAGS = {
  smaller: {
    flags: '--out <folder>',
    description: 'where the new model goes; there must be nothing yet',
    schema: text,
    scope: 'optimize',
    isRequired: true,
  },
  evaluate: {
    flags: '--evaluate <file>',
    description: 'texts to measure perplexity with',
    schema: text.optional(),
    defaultText: "the model's, else its own",
  },
  tokens: {
    flags: '--tokens <n>',
    description: 'tokens of these texts that are used',
    schema: count(256, 1_048_576),
    default: 16_384,
  },
} satisfies Record<string, FlagSpec>;
