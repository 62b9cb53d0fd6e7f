import { NATIVE_PRECISIONS, PRECISIONS } from '../../model/manifest.ts';
import type { FlagSpec } from './flag-spec.ts';
import { count, listOf, oneOf, text } from './values.ts';

/** Flags of reports that commands print, write and compare. */
export const REPORT_FLAGS = {
  fixedSeed: {
    flags: '--seed <n>',
    description: 'of all that is drawn by chance',
    schema: count(0, 2 ** 31),
    default: 0,
  },
  json: {
    flags: '--json',
    description: 'print JSON in place of text',
  },
  saveResult: {
    flags: '--save-result <file>',
    description: 'write all figures as JSON',
    schema: text.optional(),
  },
  html: {
    flags: '--html <file>',
    description: 'write a report with plots',
    schema: text.optional(),
  },
  yes: {
    flags: '--yes',
    short: 'y',
    description: 'do not ask',
  },
} satisfies Record<string, FlagSpec>;

export const EVAL_FLAGS = {
  precisions: {
    flags: '--precisions <list>',
    description: `of ${PRECISIONS.join(', ')}`,
    schema: listOf(oneOf(PRECISIONS)),
    list: 'commas',
    // Those that every model can be built in.
    default: PRECISIONS.filter((name) => name !== 'int8-static' && !NATIVE_PRECISIONS.has(name)),
    defaultText: 'fp32,fp16,int8,int4',
  },
  data: {
    flags: '--data <file>',
    description: 'text, or JSON lines of {"text"} and {"task", "prompt", "answer"}',
    schema: text.optional(),
    defaultText: "the model's",
  },
  compareVariants: {
    flags: '--compare <variants>',
    description: 'MODEL or MODEL:precision, each a row of one table',
    schema: listOf(text).optional(),
    list: 'commas',
    words: /^[^-]/,
    scope: 'eval',
  },
  evalRounds: {
    flags: '--rounds <n>',
    description: 'with --compare: times that each is measured, in turns',
    schema: count(1),
    scope: 'eval',
    default: 3,
  },
  row: {
    flags: '--row <files>',
    description: 'with --compare: saved results of others, as further rows',
    schema: listOf(text),
    list: 'commas',
    words: /^[^-]/,
    default: [],
    defaultText: 'none',
  },
  machine: {
    flags: '--machine <name>',
    description: 'with --compare: what to call this machine',
    schema: text.optional(),
    defaultText: 'its processor',
  },
} satisfies Record<string, FlagSpec>;

export const BUILD_FLAGS = {
  compareWeights: {
    flags: '--compare',
    description: 'compare the weights of the build with those of the checkpoint',
    scope: 'build',
  },
  autotune: {
    flags: '--autotune',
    description: 'measure which kernels, threads and step size are fastest here (minutes)',
  },
} satisfies Record<string, FlagSpec>;
