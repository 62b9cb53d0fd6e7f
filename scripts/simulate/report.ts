import { BLOCK_SIZE } from '../../src/engine/kv-cache/prefix-index.ts';
import { printTable } from '../bench/lib/table.ts';
import type { Machine } from './machine.ts';
import type { Outcome } from './simulation.ts';

export interface Result {
  readonly name: string;
  readonly outcome: Outcome;
}

/** One row per policy; latencies in milliseconds. */
export function printResults({ serviceLevel }: Machine, results: readonly Result[]): void {
  const names = new Set(results.flatMap(({ outcome }) => [...outcome.metrics.ttftByGroup.keys()]));
  const groups = names.size > 1 ? [...names].sort() : [];
  const header = [
    'policy',
    'TTFT p50',
    'p99',
    'ITL p50',
    'p95',
    'p99',
    'tokens/s',
    'good',
    'preempted',
    'prefix hits',
    'KV blocks',
    ...groups.flatMap((group) => [
      `${group}: TTFT p50`,
      'p95',
      'p99',
      'ITL p50',
      'p95',
      'p99',
      'tokens/s',
    ]),
  ];
  printTable(
    header,
    results.map(({ name, outcome }) => resultCells(name, outcome, groups)),
  );
  const { ttftMs, itlMs } = serviceLevel;
  console.log(
    `\ngood: first token within ${ttftMs} ms, and 95 of 100 gaps within ${itlMs} ms; ` +
      `KV blocks: the most in use, of ${BLOCK_SIZE} tokens`,
  );
}

function resultCells(name: string, outcome: Outcome, groups: readonly string[]): string[] {
  const { metrics, counters, elapsedMs } = outcome;
  const { ttft, itl, ttftByGroup, numTokens, numGood, numArrived } = metrics;
  const { prefixCacheHits, prefixCacheQueries, numPreemptions, maxResidentPages } = counters;
  return [
    name,
    milliseconds(ttft.percentile(50)),
    milliseconds(ttft.percentile(99)),
    milliseconds(itl.percentile(50)),
    milliseconds(itl.percentile(95)),
    milliseconds(itl.percentile(99)),
    ((numTokens * 1000) / elapsedMs).toFixed(0),
    percent(numGood / numArrived),
    String(numPreemptions),
    percent(prefixCacheHits / prefixCacheQueries),
    String(maxResidentPages),
    ...groups.flatMap((group) => [
      ...[50, 95, 99].map((share) =>
        milliseconds(ttftByGroup.get(group)?.percentile(share) ?? NaN),
      ),
      ...[50, 95, 99].map((share) =>
        milliseconds(metrics.itlByGroup.get(group)?.percentile(share) ?? NaN),
      ),
      (((metrics.tokensByGroup.get(group) ?? 0) * 1000) / elapsedMs).toFixed(0),
    ]),
  ];
}

function milliseconds(ms: number): string {
  return ms < 100 ? ms.toFixed(1) : ms.toFixed(0);
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)}%`;
}
