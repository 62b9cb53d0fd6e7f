import { describe, expect, it } from 'vitest';
import type { ArrivalOptions } from '../../src/bench/arrivals.ts';
import type { BenchmarkRun } from '../../src/bench/benchmark-run.ts';
import { computeMetrics } from '../../src/bench/bench-metrics.ts';
import type { RequestRecord } from '../../src/bench/recorder.ts';
import { toHtml } from '../../src/bench/report-html.ts';
import { type ReportContext, toJson } from '../../src/bench/report-json.ts';
import { toText } from '../../src/bench/report-text.ts';
import { record } from './support/records.ts';
import { checkWellFormed } from './support/well-formed.ts';

const context: ReportContext = {
  url: 'http://127.0.0.1:8000/v1/completions',
  backend: 'openai',
  model: '<model & "co">',
  numPrompts: 3,
  maxConcurrency: Infinity,
  seed: 0,
};

const RECORDS = [
  record(0, [100, 150, 220]),
  record(50, [130, 400, 410]),
  record(60, [], { error: 'HTTP 500: <b>no</b>', endMs: 90 }),
];

function runOf(
  records: readonly RequestRecord[] = RECORDS,
  arrivals: ArrivalOptions = { rate: 4, burstiness: 1 },
): BenchmarkRun {
  const metrics = computeMetrics(records, 1000, { goodput: { ttft: 90 }, percentiles: [50, 99.9] });
  return { startedAt: new Date(0), arrivals, records, durationMs: 1000, metrics };
}

describe('toJson', () => {
  it('has the field names and units of vllm bench serve', () => {
    const json = toJson(runOf(), context);
    for (const name of ['ttft', 'tpot', 'itl', 'e2el']) {
      for (const statistic of ['mean', 'median', 'std', 'p50', 'p99.9']) {
        expect(json[`${statistic}_${name}_ms`]).toBeTypeOf('number');
      }
    }
    expect(json).toMatchObject({
      backend: 'openai',
      request_rate: 4,
      burstiness: 1,
      max_concurrency: null,
      num_prompts: 3,
      duration: 1,
      completed: 2,
      failed: 1,
      total_input_tokens: 20,
      total_output_tokens: 6,
      request_throughput: 2,
      request_goodput: 1,
      output_throughput: 6,
      total_token_throughput: 26,
      max_output_tokens_per_s: 6,
      max_concurrent_requests: 2,
      mean_ttft_ms: 90,
      ttfts: [0.1, 0.08, 0],
      itls: [[0.05, 0.07], [0.27, 0.01], []],
      input_lens: [10, 10, 10],
      output_lens: [3, 3, 0],
      errors: ['', '', 'HTTP 500: <b>no</b>'],
    });
  });

  it('survives JSON with an infinite rate', () => {
    const run = runOf(RECORDS, { rate: Infinity, burstiness: Infinity });
    const json: unknown = JSON.parse(JSON.stringify(toJson(run, context)));
    expect(json).toMatchObject({ request_rate: 'inf', burstiness: 'inf' });
  });
});

describe('toText', () => {
  it('shows throughput, latencies and what went wrong', () => {
    const text = toText(runOf());
    expect(text).toContain('2 completed, 1 failed');
    expect(text).toMatch(/Time to first token \(ms\) +90\.0 +90\.0 +10\.0/);
    expect(text).toContain('1 failed: HTTP 500: <b>no</b>');
  });
});

function captions(html: string): string[] {
  return Array.from(html.matchAll(/<figcaption>(.*?)<\/figcaption>/g), ([, text = '']) => text);
}

describe('toHtml', () => {
  it('is well-formed, and needs no network and no script', () => {
    const html = toHtml([runOf()], context);
    checkWellFormed(html);
    expect(html).not.toMatch(/<script|<link|src=|@import|url\(/);
    expect(html).toContain('&lt;model &amp; &quot;co&quot;&gt;');
    expect(html).toContain('HTTP 500: &lt;b&gt;no&lt;/b&gt;');
    expect(html).not.toMatch(/NaN|undefined|Infinity/);
  });

  it('plots latencies, throughput over time and the tokens of each request', () => {
    const html = toHtml([runOf()], context);
    expect(captions(html)).toEqual([
      'Time to first token',
      'Inter-token latency',
      'End-to-end latency',
      'Output tokens in each second',
      'Requests in flight',
      'Tokens of each request',
    ]);
    // Three pieces each: three ticks.
    expect(html.match(/<path class="token" d="(M[\d. ]+v\d+){3}"/g)).toHaveLength(2);
    expect(html.match(/class="waiting failed"/g)).toHaveLength(1);
  });

  it('plots throughput and latency against the rate of a sweep', () => {
    const runs = [1, 2, 4].map((rate) => runOf(RECORDS, { rate, burstiness: 1 }));
    const html = toHtml(runs, context);
    checkWellFormed(html);
    expect(captions(html)).toEqual(
      expect.arrayContaining(['Throughput against rate', 'Time to first token against rate']),
    );
    // A dot for each rate: throughput, and median and p99 of two latencies.
    expect(html.match(/<circle/g)).toHaveLength(3 * 5);
  });

  it('says what there is to say when every request failed', () => {
    const html = toHtml([runOf(RECORDS.slice(2))], context);
    checkWellFormed(html);
    expect(html).not.toMatch(/NaN|undefined|Infinity/);
  });
});
