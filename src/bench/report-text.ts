import type { BenchmarkRun } from './benchmark-run.ts';
import { arrivalLabel, LATENCY_TITLES } from './labels.ts';
import { LATENCY_NAMES } from './bench-metrics.ts';

const MAX_ERRORS = 5;

/** One run for the terminal. */
export function toText(run: BenchmarkRun): string {
  const { metrics, durationMs } = run;
  const facts: readonly (readonly [string, string])[] = [
    [
      'requests',
      `${metrics.completed} completed, ${metrics.failed} failed` +
        (run.isInterrupted ? ', then interrupted' : ''),
    ],
    ['duration', `${(durationMs / 1000).toFixed(2)} s`],
    ['tokens', `${metrics.totalInputTokens} in, ${metrics.totalOutputTokens} out`],
    ['request throughput', `${metrics.requestThroughput.toFixed(2)} req/s`],
    ...(metrics.requestGoodput === null
      ? []
      : [['request goodput', `${metrics.requestGoodput.toFixed(2)} req/s`] as const]),
    [
      'output throughput',
      `${metrics.outputThroughput.toFixed(1)} tokens/s ` +
        `(best second ${metrics.maxOutputTokensPerSecond.toFixed(0)})`,
    ],
    ['total throughput', `${metrics.totalTokenThroughput.toFixed(1)} tokens/s`],
    ['most in flight', `${metrics.maxConcurrentRequests}`],
  ];
  return [
    arrivalLabel(run.arrivals),
    ...facts.map(([label, value]) => `  ${label.padEnd(20)} ${value}`),
    '',
    ...latencyTable(run),
    ...errorLines(run),
  ].join('\n');
}

function latencyTable({ metrics }: BenchmarkRun): string[] {
  const percentages = [...metrics.latencies.ttft.percentiles.keys()];
  const header = ['mean', 'median', 'std', ...percentages.map((p) => `p${p}`)];
  const rows = LATENCY_NAMES.map((name) => {
    const { mean, median, std, percentiles } = metrics.latencies[name];
    const values = [mean, median, std, ...percentiles.values()];
    return cells(
      `${LATENCY_TITLES[name]} (ms)`,
      values.map((value) => value.toFixed(1)),
    );
  });
  return [cells('', header), ...rows];
}

function cells(label: string, values: readonly string[]): string {
  return `  ${label.padEnd(28)}${values.map((value) => value.padStart(10)).join('')}`;
}

function errorLines({ records }: BenchmarkRun): string[] {
  const counts = new Map<string, number>();
  for (const { error } of records) {
    if (error !== null) counts.set(error, (counts.get(error) ?? 0) + 1);
  }
  if (counts.size === 0) return [];
  const most = [...counts].sort(([, a], [, b]) => b - a).slice(0, MAX_ERRORS);
  return ['', ...most.map(([error, count]) => `  ${count} failed: ${error}`)];
}
