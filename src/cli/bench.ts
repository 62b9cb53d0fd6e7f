import { Command } from 'commander';
import { writeFile } from 'node:fs/promises';
import type { ArrivalOptions } from '../bench/arrivals.ts';
import type { BenchmarkRun } from '../bench/benchmark-run.ts';
import { runBenchmark } from '../bench/benchmark.ts';
import { readDataset } from '../bench/dataset.ts';
import { SHAREGPT_MEANS } from '../bench/lengths.ts';
import type { Random } from '../bench/random.ts';
import { toHtml } from '../bench/report-html.ts';
import { type ReportContext, toJson } from '../bench/report-json.ts';
import { toText } from '../bench/report-text.ts';
import { DEFAULT_ENDPOINTS } from '../bench/backend.ts';
import { askServer, joinUrl, type ServerInfo } from '../bench/server-info.ts';
import { SseClient } from '../bench/sse-client.ts';
import { sampleItems, syntheticItems, type WorkItem } from '../bench/workload.ts';
import { addBenchOptions, type BenchOptions, readBenchOptions } from './bench-options.ts';
import { BenchProgressBar } from './bench-progress.ts';

const DEFAULT_LENGTH = 128;

/** Every Chairlift model has at least as many tokens, down to the smallest test shape. */
const CHAIRLIFT_TOKEN_IDS = 256;

/** `chairlift bench`: a load test of any OpenAI-compatible server. */
export function benchCommand(): Command {
  const command = new Command('bench').description(
    'load-test an OpenAI-compatible server: latencies, throughput, goodput, plots',
  );
  return addBenchOptions(command).action(() => bench(readBenchOptions(command)));
}

async function bench(options: BenchOptions): Promise<void> {
  const { backend, ignoreEos, temperature, maxConcurrency = Infinity } = options;
  const baseUrl = new URL(options.baseUrl);
  const headers: Record<string, string> =
    options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` };
  const server = await askServer(baseUrl, headers, options.model);
  const workload = await chooseWorkload(options, server);
  const url = joinUrl(baseUrl, options.endpoint ?? DEFAULT_ENDPOINTS[backend]);
  const client = new SseClient({ url, headers, timeoutMs: options.requestTimeout * 1000 });
  const runs = await runBenchmark({
    client,
    body: {
      backend,
      model: server.model,
      ignoreEos: ignoreEos || (server.isChairlift && options.datasetPath === undefined),
      temperature,
      extra: options.extraBody,
    },
    workload,
    numPrompts: options.numPrompts,
    numWarmups: options.numWarmups,
    seed: options.seed,
    arrivals: arrivalsOf(options),
    maxConcurrency,
    goodput: options.goodput,
    percentiles: options.metricPercentiles,
    progress: new BenchProgressBar(options.numPrompts),
  }).finally(() => client.close());
  const { numPrompts, seed } = options;
  await report(runs, options, {
    url: url.href,
    backend,
    model: server.model,
    numPrompts,
    maxConcurrency,
    seed,
  });
  // A failed request is a finding, not a failure; a run without a single answer is one.
  if (runs.some(({ metrics }) => metrics.completed === 0)) process.exitCode = 1;
}

type Workload = (count: number, random: Random) => WorkItem[];

async function chooseWorkload(options: BenchOptions, server: ServerInfo): Promise<Workload> {
  const { randomDistribution: kind, randomRangeRatio: rangeRatio } = options;
  const means =
    kind === 'lognormal' ? SHAREGPT_MEANS : { input: DEFAULT_LENGTH, output: DEFAULT_LENGTH };
  const outputLen = options.randomOutputLen ?? means.output;
  if (options.datasetPath !== undefined) {
    const dataset = await readDataset(options.datasetPath, outputLen);
    return (count, random) => sampleItems(dataset, count, random);
  }
  const tokenIds = options.tokenIds ?? (server.isChairlift ? CHAIRLIFT_TOKEN_IDS : null);
  const workload = {
    input: { kind, mean: options.randomInputLen ?? means.input, rangeRatio },
    output: { kind, mean: outputLen, rangeRatio },
    // Chat takes text alone.
    tokenIdLimit: options.backend === 'openai' ? tokenIds : null,
    maxModelLen: server.maxModelLen,
  };
  return (count, random) => syntheticItems(workload, count, random);
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
  if (saveResult !== undefined) await writeFile(saveResult, `${text}\n`);
  if (html !== undefined) await writeFile(html, toHtml(runs, context));
}
