import type { Comparison, ComparisonRow } from '../../../../src/eval/compare/comparison.ts';

/** A row with whatever is given changed. */
export function row(changes: Partial<ComparisonRow> = {}): ComparisonRow {
  return {
    variant: 'summit:int8',
    precision: 'int8',
    kernels: 'native',
    machine: 'here',
    threads: 2,
    rounds: 3,
    fileBytes: 5 * 2 ** 20,
    residentBytes: 90 * 2 ** 20,
    startMs: 321,
    levels: [
      { streams: 1, p50Ms: 40.4, p95Ms: 44, requestsPerSecond: 25, tokensPerSecond: 800 },
      { streams: 16, p50Ms: 160, p95Ms: 190, requestsPerSecond: 98.76, tokensPerSecond: 3160 },
    ],
    perplexity: 1.7234,
    numScoredTokens: 1000,
    tasks: [
      { task: 'sums', correct: 3, cases: 4 },
      { task: 'json', correct: 1, cases: 1 },
    ],
    ...changes,
  };
}

export function comparison(rows: readonly ComparisonRow[]): Comparison {
  return {
    date: '2026-01-02T03:04:05.000Z',
    machine: 'here',
    workload: { promptTokens: 64, outputTokens: 32, streams: [1, 16], data: 'abc' },
    rows: [...rows],
  };
}
