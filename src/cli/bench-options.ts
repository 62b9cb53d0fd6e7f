/** The flags of `chairlift bench`, named after those of `vllm bench serve`. */
import { type Command, Option } from 'commander';
import { z } from 'zod';
import { RAMP_UP_STRATEGIES } from '../bench/arrivals.ts';
import { LENGTH_DISTRIBUTIONS, SHAREGPT_MEANS } from '../bench/lengths.ts';
import { GOODPUT_METRICS, type GoodputLimits } from '../bench/bench-metrics.ts';
import { BACKENDS } from '../bench/backend.ts';
import { UsageError } from './usage-error.ts';
import { count } from './flags/values.ts';

const rate = z
  .union([z.literal('inf').transform(() => Infinity), z.coerce.number<string>().positive()])
  .refine((value) => !Number.isNaN(value), 'expected a number above 0, or inf');
const list = <T extends z.ZodType<unknown, string>>(item: T) =>
  z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(item).min(1));

const schema = z.object({
  baseUrl: z.url({ protocol: /^https?$/, error: 'expected an http or https address' }),
  backend: z.enum(BACKENDS),
  endpoint: z.string().min(1).optional(),
  model: z.string().min(1).optional(),
  apiKey: z.string().min(1).optional(),
  numPrompts: count(1),
  numWarmups: count(0),
  requestRate: list(rate),
  burstiness: rate,
  maxConcurrency: count(1).optional(),
  rampUpStrategy: z.enum(RAMP_UP_STRATEGIES).optional(),
  rampUpStartRps: z.coerce.number().positive().optional(),
  rampUpEndRps: z.coerce.number().positive().optional(),
  randomInputLen: count(1).optional(),
  randomOutputLen: count(1).optional(),
  randomDistribution: z.enum(LENGTH_DISTRIBUTIONS),
  randomRangeRatio: z.coerce.number().min(0).lt(1),
  tokenIds: count(1).optional(),
  datasetPath: z.string().min(1).optional(),
  seed: count(0),
  temperature: z.coerce.number().min(0).optional(),
  ignoreEos: z.boolean().default(false),
  extraBody: z
    .string()
    .transform((text, context) => parseObject(text, context))
    .pipe(z.record(z.string(), z.unknown())),
  goodput: z
    .array(z.string())
    .default([])
    .transform((pairs, context) => parseGoodput(pairs, context)),
  metricPercentiles: list(z.coerce.number<string>().min(0).max(100)),
  requestTimeout: z.coerce.number().positive(),
  saveResult: z.string().min(1).optional(),
  html: z.string().min(1).optional(),
  json: z.boolean().default(false),
});

export type BenchOptions = z.output<typeof schema>;

const { input, output } = SHAREGPT_MEANS;

/** Flag, meaning and default, in the order of the help text. */
const FLAGS: readonly (readonly [flags: string, description: string, fallback?: string])[] = [
  ['--base-url <url>', 'where the server is', 'http://127.0.0.1:8000'],
  ['--backend <name>', `API to use: ${BACKENDS.join(' or ')}`, 'openai'],
  ['--endpoint <path>', "path below the base URL (default: the API's own)"],
  ['--model <name>', "model to ask for (default: the first of the server's list)"],
  ['--num-prompts <n>', 'requests to send, in each run', '100'],
  ['--num-warmups <n>', 'requests to send before, which are not measured', '1'],
  [
    '--request-rate <list>',
    'requests per second, or inf; several by commas are one run each',
    'inf',
  ],
  ['--burstiness <n>', '1 is a Poisson process; below requests bunch, above they even out', '1'],
  ['--max-concurrency <n>', 'most requests in flight (default: no limit)'],
  ['--ramp-up-strategy <name>', `a growing rate: ${RAMP_UP_STRATEGIES.join(' or ')}`],
  ['--ramp-up-start-rps <n>', 'rate at the first request'],
  ['--ramp-up-end-rps <n>', 'rate at the last request'],
  ['--random-input-len <n>', `mean tokens of a prompt (default: 128; lognormal: ${input})`],
  ['--random-output-len <n>', `mean tokens of an answer (default: 128; lognormal: ${output})`],
  [
    '--random-distribution <name>',
    `of the lengths: ${LENGTH_DISTRIBUTIONS.join(', ')} (as in ShareGPT)`,
    'fixed',
  ],
  [
    '--random-range-ratio <r>',
    'half width of the uniform distribution, as a share of the mean',
    '0.5',
  ],
  ['--token-ids <n>', 'send prompts as random token ids below n; Chairlift gets them in any case'],
  [
    '--dataset-path <file>',
    'JSON lines of {"prompt"} or {"messages"}, and optionally output_tokens',
  ],
  ['--seed <n>', 'for prompts, lengths and arrivals', '0'],
  ['--temperature <t>', "0 is greedy (default: the server's own)"],
  ['--extra-body <json>', 'fields to add to every request', '{}'],
  ['--metric-percentiles <list>', 'percentiles to report', '50,90,95,99'],
  ['--request-timeout <seconds>', 'a request that takes longer has failed', '600'],
  ['--save-result <file>', 'write all figures as JSON, with the names of `vllm bench serve`'],
  ['--html <file>', 'write a report with plots'],
];

export function addBenchOptions(command: Command): Command {
  for (const [flags, description, fallback] of FLAGS) {
    const option = new Option(flags, description);
    if (fallback !== undefined) option.default(fallback, fallback);
    command.addOption(option);
  }
  return command
    .addOption(new Option('--api-key <key>', 'key to send').env('OPENAI_API_KEY'))
    .option('--ignore-eos', 'ask for answers of full length; Chairlift is asked in any case')
    .option(
      '--goodput <limits...>',
      `count requests that keep all limits, in ms, such as ttft:200 tpot:50 (${GOODPUT_METRICS.join(', ')})`,
    )
    .option('--json', 'print JSON instead of tables');
}

/** @throws UsageError naming what is wrong */
export function readBenchOptions(command: Command): BenchOptions {
  const parsed = schema.safeParse(command.opts());
  if (!parsed.success) throw new UsageError(z.prettifyError(parsed.error));
  const options = parsed.data;
  const { rampUpStrategy, rampUpStartRps, rampUpEndRps, requestRate } = options;
  const numRampUp = [rampUpStrategy, rampUpStartRps, rampUpEndRps].filter(
    (value) => value !== undefined,
  ).length;
  if (numRampUp % 3 !== 0) {
    throw new UsageError(
      '--ramp-up-strategy, --ramp-up-start-rps and --ramp-up-end-rps go together: give all three',
    );
  }
  if (numRampUp === 3 && (requestRate.length > 1 || requestRate[0] !== Infinity)) {
    throw new UsageError('--ramp-up-strategy replaces --request-rate: give only one of them');
  }
  return options;
}

function parseObject(text: string, context: z.RefinementCtx): unknown {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue({ code: 'custom', message: 'expected a JSON object' });
    return z.NEVER;
  }
}

function parseGoodput(pairs: readonly string[], context: z.RefinementCtx): GoodputLimits {
  const limits: GoodputLimits = {};
  for (const pair of pairs) {
    const [name, limit = ''] = pair.split(':');
    const metric = GOODPUT_METRICS.find((candidate) => candidate === name);
    const ms = limit === '' ? NaN : Number(limit);
    if (metric === undefined || !(ms >= 0)) {
      context.addIssue({
        code: 'custom',
        message: `expected ${GOODPUT_METRICS.join(', ')} and milliseconds, such as ttft:200; got ${pair}`,
      });
      return z.NEVER;
    }
    limits[metric] = ms;
  }
  return limits;
}
