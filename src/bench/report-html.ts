import type { BenchmarkRun } from './benchmark-run.ts';
import { htmlDocument, section } from './html/document.ts';
import { escapeHtml } from './html/escape.ts';
import { formatMs, latencyPlots, overTimePlots, ratePlots } from './html/plots.ts';
import { timeline } from './html/timeline.ts';
import { arrivalLabel, LATENCY_TITLES } from './labels.ts';
import { LATENCY_NAMES } from './bench-metrics.ts';
import type { ReportContext } from './report-json.ts';

/** @param runs in the order of rising rates */
export function toHtml(runs: readonly BenchmarkRun[], context: ReportContext): string {
  return htmlDocument(`Load test of ${context.model}`, facts(runs, context), [
    ...(runs.length === 1 ? runs.map(tiles) : []),
    section('Latency', 'plots', latencyPlots(runs)),
    section('Against the request rate', 'plots', ratePlots(runs)),
    ...runs.map((run) => runSection(run, runs.length > 1)),
    section('Figures', '', [figures(runs)]),
  ]);
}

function facts(runs: readonly BenchmarkRun[], context: ReportContext): string {
  const cap =
    context.maxConcurrency === Infinity ? '' : `, at most ${context.maxConcurrency} at once`;
  const loads = runs.map(({ arrivals }) => arrivalLabel(arrivals)).join(', ');
  const startedAt = runs[0]?.startedAt.toISOString().slice(0, 16).replace('T', ' ') ?? '';
  const requests = `${context.numPrompts} requests${runs.length > 1 ? ' each' : ''}: ${loads}${cap}`;
  return `${context.url} (${context.backend}); ${requests}; seed ${context.seed}; ${startedAt} UTC`;
}

function tiles({ metrics, durationMs }: BenchmarkRun): string {
  const { ttft, itl, e2el } = metrics.latencies;
  const values: readonly (readonly [string, string, string])[] = [
    ['Output throughput', metrics.outputThroughput.toFixed(0), 'tokens/s'],
    ['Request throughput', metrics.requestThroughput.toFixed(2), 'req/s'],
    ...(metrics.requestGoodput === null
      ? []
      : [['Goodput', metrics.requestGoodput.toFixed(2), 'req/s'] as const]),
    ['Median first token', ...split(formatMs(ttft.median))],
    ['Median inter-token', ...split(formatMs(itl.median))],
    ['Median end to end', ...split(formatMs(e2el.median))],
    ['Completed', String(metrics.completed), `of ${metrics.completed + metrics.failed}`],
    ['Duration', (durationMs / 1000).toFixed(1), 's'],
  ];
  const items = values.map(
    ([label, value, unit]) =>
      `<div><dt>${label}</dt><dd>${value} <small>${unit}</small></dd></div>`,
  );
  return `<dl class="tiles">${items.join('')}</dl>`;
}

function split(text: string): [string, string] {
  const [value = '', unit = ''] = text.split(' ');
  return [value, unit];
}

function runSection(run: BenchmarkRun, isOneOfMany: boolean): string {
  const suffix = isOneOfMany ? `: ${arrivalLabel(run.arrivals)}` : '';
  return (
    section(`Over time${suffix}`, 'plots pair', overTimePlots(run)) +
    section(`Token timeline${suffix}`, '', run.records.length > 0 ? [timeline(run.records)] : []) +
    errorList(run)
  );
}

function errorList({ records }: BenchmarkRun): string {
  const errors = new Set(records.flatMap(({ error }) => error ?? []));
  if (errors.size === 0) return '';
  const items = [...errors].slice(0, 5).map((error) => `<li>${escapeHtml(error)}</li>`);
  return `<ul class="errors">${items.join('')}</ul>`;
}

function figures(runs: readonly BenchmarkRun[]): string {
  const rows: (readonly [string, (run: BenchmarkRun) => string])[] = [
    ['Completed', (run) => String(run.metrics.completed)],
    ['Failed', (run) => String(run.metrics.failed)],
    ['Tokens in', ({ metrics }) => String(metrics.totalInputTokens)],
    ['Tokens out', ({ metrics }) => String(metrics.totalOutputTokens)],
    ['Requests/s', ({ metrics }) => metrics.requestThroughput.toFixed(2)],
    ['Good requests/s', ({ metrics }) => metrics.requestGoodput?.toFixed(2) ?? '-'],
    ['Output tokens/s', ({ metrics }) => metrics.outputThroughput.toFixed(1)],
    ['Best second, tokens', ({ metrics }) => metrics.maxOutputTokensPerSecond.toFixed(0)],
    ['Most in flight', ({ metrics }) => String(metrics.maxConcurrentRequests)],
    ...LATENCY_NAMES.map(
      (name) =>
        [
          `${LATENCY_TITLES[name]}: mean / median / ${tailNames(runs)}`,
          (run: BenchmarkRun) => {
            const { mean, median, percentiles } = run.metrics.latencies[name];
            return [mean, median, ...percentiles.values()].map(formatMs).join(' / ');
          },
        ] as const,
    ),
  ];
  const head = runs.map((run) => `<th>${escapeHtml(arrivalLabel(run.arrivals))}</th>`).join('');
  const body = rows.map(
    ([label, value]) =>
      `<tr><td>${label}</td>${runs.map((run) => `<td>${value(run)}</td>`).join('')}</tr>`,
  );
  return `<div class="table"><table><thead><tr><th></th>${head}</tr></thead><tbody>${body.join('')}</tbody></table></div>`;
}

function tailNames(runs: readonly BenchmarkRun[]): string {
  const percentages = runs[0]?.metrics.latencies.ttft.percentiles.keys() ?? [];
  return Array.from(percentages, (p) => `p${p}`).join(' / ');
}
