/** The flags of `bench`, named after those of `vllm bench serve`, and of `profile`. */
import { RAMP_UP_STRATEGIES } from '../../bench/arrivals.ts';
import { BACKENDS } from '../../bench/backend.ts';
import { GOODPUT_METRICS, type GoodputLimits } from '../../bench/bench-metrics.ts';
import { LENGTH_DISTRIBUTIONS, SHAREGPT_MEANS } from '../../bench/lengths.ts';
import type { FlagSpec } from './flag-spec.ts';
import {
  count,
  decimal,
  inWords,
  jsonObject,
  listOf,
  oneOf,
  readable,
  seconds,
  text,
} from './values.ts';

const { input, output } = SHAREGPT_MEANS;

const rate = readable('a number above 0, or inf', (given) =>
  given === 'inf' ? Infinity : decimal({ above: 0 }).safeParse(given).data,
);

const limits = listOf(
  readable(
    `${inWords(GOODPUT_METRICS)} and milliseconds, such as ttft:200`,
    (given): readonly [keyof GoodputLimits, number] | undefined => {
      const [, name, limit = ''] = /^([^:]+):(.+)$/.exec(given) ?? [];
      const metric = GOODPUT_METRICS.find((candidate) => candidate === name);
      const ms = decimal({ min: 0 }).safeParse(limit).data;
      return metric === undefined || ms === undefined ? undefined : [metric, ms];
    },
  ),
).transform((pairs): GoodputLimits => Object.fromEntries(pairs));

export const BENCH_FLAGS = {
  backend: {
    flags: '--backend <name>',
    description: `API to use: ${inWords(BACKENDS)}`,
    schema: oneOf(BACKENDS),
    scope: 'bench',
    default: 'openai',
  },
  endpoint: {
    flags: '--endpoint <path>',
    description: 'path below the address',
    schema: text.optional(),
    defaultText: "the API's own",
  },
  numPrompts: {
    flags: '--num-prompts <n>',
    description: 'requests to send, in each run',
    schema: count(1),
    default: 100,
  },
  numWarmups: {
    flags: '--num-warmups <n>',
    description: 'requests to send before, which are not measured',
    schema: count(0),
    default: 1,
  },
  requestRate: {
    flags: '--request-rate <list>',
    description: 'requests per second, or inf; a run for each',
    schema: listOf(rate),
    list: 'commas',
    default: [Infinity],
    defaultText: 'inf',
  },
  burstiness: {
    flags: '--burstiness <n>',
    description: '1 is Poisson; below bunches, above evens out',
    schema: rate,
    default: 1,
  },
  maxConcurrency: {
    flags: '--max-concurrency <n>',
    description: 'most requests in flight',
    schema: count(1).optional(),
    defaultText: 'no limit',
  },
  rampUpStrategy: {
    flags: '--ramp-up-strategy <name>',
    description: `a growing rate: ${inWords(RAMP_UP_STRATEGIES)}`,
    schema: oneOf(RAMP_UP_STRATEGIES).optional(),
  },
  rampUpStartRps: {
    flags: '--ramp-up-start-rps <n>',
    description: 'rate at the first request',
    schema: decimal({ above: 0 }).optional(),
  },
  rampUpEndRps: {
    flags: '--ramp-up-end-rps <n>',
    description: 'rate at the last request',
    schema: decimal({ above: 0 }).optional(),
  },
  randomInputLen: {
    flags: '--random-input-len <n>',
    description: 'mean tokens of a prompt',
    schema: count(1).optional(),
    defaultText: `128; lognormal: ${input}`,
  },
  randomOutputLen: {
    flags: '--random-output-len <n>',
    description: 'mean tokens of an answer',
    schema: count(1).optional(),
    defaultText: `128; lognormal: ${output}`,
  },
  randomDistribution: {
    flags: '--random-distribution <how>',
    description: `of the lengths: ${LENGTH_DISTRIBUTIONS.join(', ')}`,
    schema: oneOf(LENGTH_DISTRIBUTIONS),
    default: 'fixed',
  },
  randomRangeRatio: {
    flags: '--random-range-ratio <r>',
    description: "uniform's half width, as a share of the mean",
    schema: decimal({ min: 0, below: 1 }),
    default: 0.5,
  },
  tokenIds: {
    flags: '--token-ids <n>',
    description: 'prompts as token ids below n; Chairlift always gets them',
    schema: count(1).optional(),
  },
  datasetPath: {
    flags: '--dataset-path <file>',
    description: 'JSON lines of {"prompt"} or {"messages"}, and output_tokens',
    schema: text.optional(),
  },
  benchTemperature: {
    flags: '--temperature <t>',
    description: '0 is greedy',
    schema: decimal({ min: 0 }).optional(),
    scope: 'bench',
    defaultText: "the server's own",
  },
  ignoreEos: {
    flags: '--ignore-eos',
    description: 'ask for answers of full length; Chairlift is asked in any case',
  },
  extraBody: {
    flags: '--extra-body <json>',
    description: 'fields to add to every request',
    schema: jsonObject,
    default: {},
  },
  goodput: {
    flags: '--goodput <limits>',
    description: 'count those within limits in ms: ttft:200 tpot:50',
    schema: limits,
    list: 'commas',
    words: /^\w+:/,
    default: {},
    defaultText: 'none',
  },
  metricPercentiles: {
    flags: '--metric-percentiles <list>',
    description: 'percentiles to report',
    schema: listOf(decimal({ min: 0, max: 100 })),
    list: 'commas',
    default: [50, 90, 95, 99],
    defaultText: '50,90,95,99',
  },
  benchTimeout: {
    flags: '--request-timeout <seconds>',
    description: 'a request that takes longer has failed',
    schema: seconds,
    scope: 'bench',
    default: 600,
  },
} satisfies Record<string, FlagSpec>;

export const PROFILE_FLAGS = {
  profileBackend: {
    flags: '--backend <name>',
    description: `API to use: ${inWords(BACKENDS)}`,
    schema: oneOf(BACKENDS),
    scope: 'profile',
    default: 'openai-chat',
  },
  requests: {
    flags: '--requests <n>',
    description: 'how many to send',
    schema: count(1, 10_000),
    default: 8,
  },
  concurrency: {
    flags: '--concurrency <n>',
    description: 'how many at once',
    schema: count(1, 1000),
    default: 1,
  },
  inputLen: {
    flags: '--input-len <words>',
    description: 'length of prompts',
    schema: count(1),
    default: 128,
  },
  outputLen: {
    flags: '--output-len <tokens>',
    description: 'length of answers',
    schema: count(1),
    default: 64,
  },
} satisfies Record<string, FlagSpec>;
