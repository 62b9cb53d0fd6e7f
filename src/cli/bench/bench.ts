import type { ArrivalOptions } from '../../bench/arrivals.ts';
import type { BenchmarkRun } from '../../bench/benchmark-run.ts';
import { Benchmark } from '../../bench/benchmark.ts';
import { readDataset } from '../../bench/dataset.ts';
import { requireWritable, writeNamed } from '../../files/named-files.ts';
import { SHAREGPT_MEANS } from '../../bench/lengths.ts';
import type { Random } from '../../bench/random.ts';
import { toHtml } from '../../bench/report-html.ts';
import { type ReportContext, toJson } from '../../bench/report-json.ts';
import { toText } from '../../bench/report-text.ts';
import { DEFAULT_ENDPOINTS } from '../../bench/backend.ts';
import { askServer, joinUrl, type ServerInfo } from '../../bench/server-info.ts';
import { SseClient } from '../../bench/sse-client.ts';
import { sampleItems, syntheticItems, type WorkItem } from '../../bench/workload.ts';
import { BenchProgressBar } from './bench-progress.ts';
import { socketPathOf } from '../../net/unix-address.ts';
import type { OptionOf } from '../../settings/commands.ts';
import { interruptible } from '../terminal/interruptible.ts';
import type { Options } from '../../settings/options.ts';
import { serverAccess } from '../server/server-access.ts';
import type { Settings } from '../../settings/settings.ts';
import { UsageError } from '../../settings/usage-error.ts';

type BenchOptions = Options<OptionOf<'bench'>>;

const DEFAULT_LENGTH = 128;

/** Every Chairlift model has at least as many tokens, down to the smallest test shape. */
const CHAIRLIFT_TOKEN_IDS = 256;

/** `chairlift bench`: a load test of any OpenAI-compatible server. */
export async function bench({ options }: Settings<'bench'>): Promise<void> {
  checkRampUp(options);
  const { backend, ignoreEos, benchTemperature: temperature, maxConcurrency = Infinity } = options;
  const { saveResult, html, datasetPath } = options;
  if (saveResult !== undefined) await requireWritable('--save-result', saveResult);
  if (html !== undefined) await requireWritable('--html', html);
  const dataset =
    datasetPath === undefined ? null : await readDataset(datasetPath, outputLengthOf(options));
  const access = { ...options, serverKey: options.benchKey };
  const { url: baseUrl, apiKey } = await serverAccess(access);
  if (socketPathOf(baseUrl) !== null) {
    throw new UsageError('bench measures servers over TCP: give an address with http');
  }
  const headers: Record<string, string> =
    apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };
  const server = await askServer(baseUrl, headers, options.askedModel);
  const workload = chooseWorkload(options, server, dataset);
  const url = joinUrl(baseUrl, options.endpoint ?? DEFAULT_ENDPOINTS[backend]);
  const client = new SseClient({ url, headers, timeoutMs: options.benchTimeout * 1000 });
  const benchmark = new Benchmark({
    client,
    body: {
      backend,
      model: server.model,
      ignoreEos: ignoreEos || (server.isChairlift && dataset === null),
      temperature,
      extra: options.extraBody,
    },
    workload,
    numPrompts: options.numPrompts,
    numWarmups: options.numWarmups,
    seed: options.fixedSeed,
    arrivals: arrivalsOf(options),
    maxConcurrency,
    goodput: options.goodput,
    percentiles: options.metricPercentiles,
    progress: new BenchProgressBar(options.numPrompts),
  });
  const { numPrompts, fixedSeed: seed } = options;
  const { model } = server;
  const context = { url: url.href, backend, model, numPrompts, maxConcurrency, seed };
  const runs = await interruptible(
    () => benchmark.run().finally(() => client.close()),
    async () => {
      const soFar = benchmark.soFar();
      if (soFar.length > 0) await report(soFar, options, context);
      else console.error('chairlift: interrupted before the first answer');
    },
  );
  await report(runs, options, context);
  // A failed request is a finding, not a failure; a run without a single answer is one.
  if (runs.some(({ metrics }) => metrics.completed === 0)) process.exitCode = 1;
}

/** @throws UsageError when flags do not go together */
export function checkRampUp({
  rampUpStrategy,
  rampUpStartRps,
  rampUpEndRps,
  requestRate,
}: Options<'rampUpStrategy' | 'rampUpStartRps' | 'rampUpEndRps' | 'requestRate'>): void {
  const given = [rampUpStrategy, rampUpStartRps, rampUpEndRps].filter(
    (value) => value !== undefined,
  );
  if (given.length % 3 !== 0) {
    throw new UsageError(
      '--ramp-up-strategy, --ramp-up-start-rps and --ramp-up-end-rps go together: give all three',
    );
  }
  if (given.length === 3 && (requestRate.length > 1 || requestRate[0] !== Infinity)) {
    throw new UsageError('--ramp-up-strategy replaces --request-rate: give only one of them');
  }
}

type Workload = (count: number, random: Random) => WorkItem[];

/** @param dataset null sends synthetic prompts */
function chooseWorkload(
  options: BenchOptions,
  server: ServerInfo,
  dataset: readonly WorkItem[] | null,
): Workload {
  if (dataset !== null) return (count, random) => sampleItems(dataset, count, random);
  const { randomDistribution: kind, randomRangeRatio: rangeRatio } = options;
  const tokenIds = options.tokenIds ?? (server.isChairlift ? CHAIRLIFT_TOKEN_IDS : null);
  const workload = {
    input: { kind, mean: options.randomInputLen ?? meansOf(options).input, rangeRatio },
    output: { kind, mean: outputLengthOf(options), rangeRatio },
    // Chat takes text alone.
    tokenIdLimit: options.backend === 'openai' ? tokenIds : null,
    maxModelLen: server.maxModelLen,
  };
  return (count, random) => syntheticItems(workload, count, random);
}

function meansOf({ randomDistribution }: BenchOptions) {
  return randomDistribution === 'lognormal'
    ? SHAREGPT_MEANS
    : { input: DEFAULT_LENGTH, output: DEFAULT_LENGTH };
}

function outputLengthOf(options: BenchOptions): number {
  return options.randomOutputLen ?? meansOf(options).output;
}

function arrivalsOf(options: BenchOptions): ArrivalOptions[] {
  const { burstiness, rampUpStrategy: strategy, rampUpStartRps, rampUpEndRps } = options;
  if (strategy && rampUpStartRps !== undefined && rampUpEndRps !== undefined) {
    const rampUp = { strategy, startRate: rampUpStartRps, endRate: rampUpEndRps };
    return [{ rate: Infinity, burstiness, rampUp }];
  }
  const rates = [...options.requestRate].sort((a, b) => a - b);
  return rates.map((rate) => ({ rate, burstiness }));
}

/** One run is an object, several are a list of them. */
async function report(
  runs: readonly BenchmarkRun[],
  { json, saveResult, html }: BenchOptions,
  context: ReportContext,
): Promise<void> {
  const results = runs.map((run) => toJson(run, context));
  const text = JSON.stringify(results.length === 1 ? results[0] : results);
  console.log(json ? text : runs.map(toText).join('\n\n'));
  if (saveResult !== undefined) await writeNamed('--save-result', saveResult, `${text}\n`);
  if (html !== undefined) await writeNamed('--html', html, toHtml(runs, context));
}
