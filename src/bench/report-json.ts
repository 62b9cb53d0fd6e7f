import type { BenchmarkRun } from './benchmark-run.ts';
import { e2elOf, itlsOf, ttftOf } from './latencies.ts';
import { LATENCY_NAMES } from './bench-metrics.ts';
import type { Backend } from './backend.ts';

export interface ReportContext {
  readonly url: string;
  readonly backend: Backend;
  readonly model: string;
  readonly numPrompts: number;
  readonly maxConcurrency: number;
  readonly seed: number;
}

/** One run with the field names, and the units, of `vllm bench serve`: raw times are in seconds. */
export function toJson(run: BenchmarkRun, context: ReportContext): Record<string, unknown> {
  const { arrivals, records, metrics } = run;
  const { rampUp } = arrivals;
  return {
    date: run.startedAt.toISOString(),
    endpoint_type: context.backend,
    backend: context.backend,
    base_url: context.url,
    model_id: context.model,
    num_prompts: context.numPrompts,
    seed: context.seed,
    request_rate: orInf(arrivals.rate),
    burstiness: orInf(arrivals.burstiness),
    max_concurrency: context.maxConcurrency === Infinity ? null : context.maxConcurrency,
    ...(rampUp && {
      ramp_up_strategy: rampUp.strategy,
      ramp_up_start_rps: rampUp.startRate,
      ramp_up_end_rps: rampUp.endRate,
    }),
    ...(run.isInterrupted && { interrupted: true }),
    duration: run.durationMs / 1000,
    completed: metrics.completed,
    failed: metrics.failed,
    total_input_tokens: metrics.totalInputTokens,
    total_output_tokens: metrics.totalOutputTokens,
    request_throughput: metrics.requestThroughput,
    request_goodput: metrics.requestGoodput,
    output_throughput: metrics.outputThroughput,
    total_token_throughput: metrics.totalTokenThroughput,
    max_output_tokens_per_s: metrics.maxOutputTokensPerSecond,
    max_concurrent_requests: metrics.maxConcurrentRequests,
    ...latencyFields(run),
    input_lens: records.map(({ promptTokens }) => promptTokens),
    output_lens: records.map(({ error, outputTokens }) => (error === null ? outputTokens : 0)),
    ttfts: records.map((record) => (record.error === null ? ttftOf(record) / 1000 : 0)),
    itls: records.map((record) =>
      record.error === null ? itlsOf(record).map((ms) => ms / 1000) : [],
    ),
    latencies: records.map((record) => (record.error === null ? e2elOf(record) / 1000 : 0)),
    start_times: records.map(({ sentMs }) => sentMs / 1000),
    queue_times: records.map(({ sentMs, dueMs }) => (sentMs - dueMs) / 1000),
    errors: records.map(({ error }) => error ?? ''),
  };
}

/** Such as `mean_ttft_ms` and `p99_itl_ms`. */
function latencyFields({ metrics }: BenchmarkRun): Record<string, number> {
  const fields: [string, number][] = [];
  for (const name of LATENCY_NAMES) {
    const { mean, median, std, percentiles } = metrics.latencies[name];
    fields.push([`mean_${name}_ms`, mean], [`median_${name}_ms`, median], [`std_${name}_ms`, std]);
    for (const [percentage, value] of percentiles)
      fields.push([`p${percentage}_${name}_ms`, value]);
  }
  return Object.fromEntries(fields);
}

/** JSON has no infinity. */
function orInf(value: number): number | 'inf' {
  return value === Infinity ? 'inf' : value;
}
