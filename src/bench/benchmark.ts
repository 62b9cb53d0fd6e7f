/** A benchmark: warm-up, then one run for each request rate. */
import { arrivalTimes, type ArrivalOptions } from './arrivals.ts';
import type { BenchmarkRun } from './benchmark-run.ts';
import { BenchError } from './bench-error.ts';
import { runLoad } from './load.ts';
import { computeMetrics, type MetricOptions } from './bench-metrics.ts';
import { Random } from './random.ts';
import { type RequestRecord, RequestRecorder } from './recorder.ts';
import { type BodyOptions, requestBody } from './backend.ts';
import type { SseClient } from './sse-client.ts';
import type { WorkItem } from './workload.ts';

export interface BenchmarkOptions extends MetricOptions {
  readonly client: SseClient;
  readonly body: BodyOptions;
  /** Draws that many requests. */
  readonly workload: (count: number, random: Random) => WorkItem[];
  readonly numPrompts: number;
  readonly numWarmups: number;
  readonly seed: number;
  /** One run each. */
  readonly arrivals: readonly ArrivalOptions[];
  readonly maxConcurrency: number;
  readonly progress?: BenchmarkProgress;
}

export interface BenchmarkProgress {
  start(arrivals: ArrivalOptions): void;
  end(record: RequestRecord): void;
  stop(): void;
}

/** @throws {BenchError} if the server fails the warm-up */
export async function runBenchmark(options: BenchmarkOptions): Promise<BenchmarkRun[]> {
  const random = new Random(options.seed);
  await warmUp(options, random);
  const runs: BenchmarkRun[] = [];
  for (const arrivals of options.arrivals) runs.push(await run(options, arrivals, random));
  return runs;
}

/** One after another, so that the first failure speaks for itself. */
async function warmUp(options: BenchmarkOptions, random: Random): Promise<void> {
  for (const item of options.workload(options.numWarmups, random)) {
    const recorder = new RequestRecorder(() => performance.now(), 0, item.promptTokens);
    const { error } = await options.client.stream(requestBody(item, options.body), recorder);
    if (error !== null) throw new BenchError(`the warm-up request failed: ${error}`);
  }
}

async function run(
  options: BenchmarkOptions,
  arrivals: ArrivalOptions,
  random: Random,
): Promise<BenchmarkRun> {
  const { client, body, numPrompts, maxConcurrency, progress } = options;
  const items = options.workload(numPrompts, random);
  const startedAt = new Date();
  progress?.start(arrivals);
  const { records, durationMs } = await runLoad(items, {
    arrivals: arrivalTimes(numPrompts, arrivals, random),
    maxConcurrency,
    send: (item, recorder) => client.stream(requestBody(item, body), recorder),
    onEnd: (record) => progress?.end(record),
  }).finally(() => progress?.stop());
  const metrics = computeMetrics(records, durationMs, options);
  return { startedAt, arrivals, records, durationMs, metrics };
}
