import { e2elOf, itlsOf, tpotOf, ttftOf } from './latencies.ts';
import type { RequestRecord } from './recorder.ts';
import { summarize, type Summary } from './statistics.ts';
import { ratesOverTime } from './throughput.ts';

export const GOODPUT_METRICS = ['ttft', 'tpot', 'e2el'] as const;

/** Limits in milliseconds; a request is good that keeps all of them. */
export type GoodputLimits = Partial<Record<(typeof GOODPUT_METRICS)[number], number>>;

export interface MetricOptions {
  readonly goodput: GoodputLimits;
  readonly percentiles: readonly number[];
}

/** Throughput is per second, latency in milliseconds. */
export interface BenchMetrics {
  readonly completed: number;
  readonly failed: number;
  readonly totalInputTokens: number;
  readonly totalOutputTokens: number;
  readonly requestThroughput: number;
  /** Null when no limits were given. */
  readonly requestGoodput: number | null;
  readonly outputThroughput: number;
  readonly totalTokenThroughput: number;
  readonly maxOutputTokensPerSecond: number;
  readonly maxConcurrentRequests: number;
  readonly latencies: Readonly<Record<LatencyName, Summary>>;
}

export const LATENCY_NAMES = ['ttft', 'tpot', 'itl', 'e2el'] as const;
export type LatencyName = (typeof LATENCY_NAMES)[number];

/** Sums a run up, as `vllm bench serve` does. */
export function computeMetrics(
  records: readonly RequestRecord[],
  durationMs: number,
  { goodput, percentiles }: MetricOptions,
): BenchMetrics {
  const completed = records.filter(({ error }) => error === null);
  const seconds = durationMs / 1000;
  const totalInputTokens = sum(completed.map(({ promptTokens }) => promptTokens));
  const totalOutputTokens = sum(completed.map(({ outputTokens }) => outputTokens));
  const hasLimits = Object.keys(goodput).length > 0;
  const numGood = completed.filter((record) => isGood(record, goodput)).length;
  const rates = ratesOverTime(completed);
  const summary = (values: readonly number[]) => summarize(values, percentiles);
  return {
    completed: completed.length,
    failed: records.length - completed.length,
    totalInputTokens,
    totalOutputTokens,
    requestThroughput: completed.length / seconds,
    requestGoodput: hasLimits ? numGood / seconds : null,
    outputThroughput: totalOutputTokens / seconds,
    totalTokenThroughput: (totalInputTokens + totalOutputTokens) / seconds,
    maxOutputTokensPerSecond: Math.max(0, ...rates.tokensPerSecond),
    maxConcurrentRequests: rates.concurrency.reduce((most, { count }) => Math.max(most, count), 0),
    latencies: {
      ttft: summary(completed.map(ttftOf)),
      tpot: summary(completed.map(tpotOf).filter((value) => value !== null)),
      itl: summary(completed.flatMap(itlsOf)),
      e2el: summary(completed.map(e2elOf)),
    },
  };
}

function isGood(record: RequestRecord, limits: GoodputLimits): boolean {
  const { ttft = Infinity, tpot = Infinity, e2el = Infinity } = limits;
  // A single token has no time per token after the first: it keeps every such limit.
  return ttftOf(record) <= ttft && (tpotOf(record) ?? 0) <= tpot && e2elOf(record) <= e2el;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
