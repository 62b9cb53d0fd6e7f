import { describe, expect, it, onTestFinished } from 'vitest';
import { Benchmark, type BenchmarkOptions } from '../../src/bench/benchmark.ts';
import type { BenchmarkRun } from '../../src/bench/benchmark-run.ts';
import { toJson } from '../../src/bench/report-json.ts';
import { toText } from '../../src/bench/report-text.ts';
import { askServer, joinUrl } from '../../src/bench/server-info.ts';
import { SseClient } from '../../src/bench/sse-client.ts';
import { syntheticItems } from '../../src/bench/workload.ts';
import { type FakeServer, fakeServer, type FakeServerOptions } from './support/sse-server.ts';

const length = (mean: number) => ({ kind: 'fixed', mean, rangeRatio: 0 }) as const;

interface Changes extends Partial<Omit<BenchmarkOptions, 'client'>> {
  readonly timeoutMs?: number;
}

function benchmarkOf(server: FakeServer, { timeoutMs = 5000, ...changes }: Changes = {}) {
  const url = new URL(`${server.url}/v1/completions`);
  const client = new SseClient({ url, headers: { authorization: 'Bearer key' }, timeoutMs });
  const workload = {
    input: length(4),
    output: length(5),
    tokenIdLimit: null,
    maxModelLen: null,
  };
  const options: BenchmarkOptions = {
    client,
    body: { backend: 'openai', model: 'fake', ignoreEos: false, extra: {} },
    workload: (count, random) => syntheticItems(workload, count, random),
    numPrompts: 6,
    numWarmups: 0,
    seed: 1,
    arrivals: [{ rate: Infinity, burstiness: 1 }],
    maxConcurrency: Infinity,
    goodput: {},
    percentiles: [99],
    ...changes,
  };
  onTestFinished(() => client.close());
  return new Benchmark(options);
}

function run(server: FakeServer, changes?: Changes) {
  return benchmarkOf(server, changes).run();
}

async function firstError(options: FakeServerOptions, changes?: Changes) {
  const [result] = await run(await fakeServer(options), { numPrompts: 1, ...changes });
  return result?.records[0]?.error;
}

describe('runBenchmark', () => {
  it('measures every request of a run', async () => {
    const server = await fakeServer();
    const [result, ...others] = await run(server);
    expect(others).toEqual([]);
    expect(result?.metrics).toMatchObject({
      completed: 6,
      failed: 0,
      totalInputTokens: 6 * 7,
      totalOutputTokens: 6 * 5,
      maxConcurrentRequests: 6,
    });
    for (const { sentMs, chunkMs, endMs } of result?.records ?? []) {
      expect(chunkMs).toHaveLength(5);
      expect([sentMs, ...chunkMs, endMs]).toEqual(
        [sentMs, ...chunkMs, endMs].toSorted((a, b) => a - b),
      );
    }
    expect(server.headers[0]?.authorization).toBe('Bearer key');
  });

  it('has what has ended so far, for an interruption', async () => {
    const server = await fakeServer();
    let numEnded = 0;
    let soFar: readonly BenchmarkRun[] = [];
    const end = () => {
      if (++numEnded === 8) soFar = benchmark.soFar();
    };
    const progress = { start: () => {}, end, stop: () => {} };
    const arrivals = [50, 100].map((rate) => ({ rate, burstiness: 1 }));
    const benchmark = benchmarkOf(server, { arrivals, progress });
    expect(benchmark.soFar()).toEqual([]);
    await benchmark.run();
    expect(soFar.map(({ metrics, isInterrupted }) => [metrics.completed, isInterrupted])).toEqual([
      [6, undefined],
      [2, true],
    ]);
    const [, last] = soFar;
    const context = { url: '', backend: 'openai', model: 'm', numPrompts: 6, seed: 1 } as const;
    const json = last && toJson(last, { ...context, maxConcurrency: Infinity });
    expect(json).toMatchObject({ interrupted: true, completed: 2, num_prompts: 6 });
    expect(last && toText(last)).toContain('2 completed, 0 failed, then interrupted');
  });

  it('sends what OpenAI itself takes, and no more', async () => {
    const server = await fakeServer();
    await run(server, { numPrompts: 1 });
    expect(server.bodies[0]).toEqual({
      model: 'fake',
      prompt: expect.any(String),
      max_tokens: 5,
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('sends chats where it is told to', async () => {
    const server = await fakeServer();
    const client = new SseClient({
      url: new URL(`${server.url}/v1/chat/completions`),
      headers: {},
      timeoutMs: 5000,
    });
    const item = { prompt: { text: 'hello' }, promptTokens: 1, maxTokens: 3 };
    const [result] = await new Benchmark({
      client,
      body: {
        backend: 'openai-chat',
        model: 'm',
        ignoreEos: true,
        temperature: 0,
        extra: { n: 1 },
      },
      workload: () => [item],
      numPrompts: 1,
      numWarmups: 0,
      seed: 1,
      arrivals: [{ rate: Infinity, burstiness: 1 }],
      maxConcurrency: 1,
      goodput: {},
      percentiles: [],
    })
      .run()
      .finally(() => client.close());
    expect(server.bodies[0]).toMatchObject({
      messages: [{ role: 'user', content: 'hello' }],
      max_completion_tokens: 3,
      ignore_eos: true,
      temperature: 0,
      n: 1,
    });
    // The chunk with the role alone is no token.
    expect(result?.records[0]?.chunkMs).toHaveLength(3);
  });

  it('keeps to the cap on requests in flight, and says how long they waited for it', async () => {
    const server = await fakeServer();
    const [result] = await run(server, { numPrompts: 8, maxConcurrency: 2 });
    expect(server.maxInFlight()).toBe(2);
    const last = result?.records.at(-1);
    expect(last?.sentMs).toBeGreaterThan(last?.dueMs ?? NaN);
  });

  it('sends requests when they are due', async () => {
    const server = await fakeServer();
    const [result] = await run(server, { arrivals: [{ rate: 100, burstiness: 1 }] });
    for (const { dueMs, sentMs } of result?.records ?? []) {
      expect(sentMs).toBeGreaterThan(dueMs - 1);
    }
    expect(result?.durationMs).toBeGreaterThan(60);
  });

  it('runs every rate with prompts of its own, after a warm-up', async () => {
    const server = await fakeServer();
    const runs = await run(server, {
      numWarmups: 2,
      numPrompts: 2,
      arrivals: [50, 100].map((rate) => ({ rate, burstiness: 1 })),
    });
    expect(runs.map(({ records }) => records.length)).toEqual([2, 2]);
    expect(new Set(server.bodies.map(({ prompt }) => prompt)).size).toBe(6);
  });

  it('repeats a workload with the seed', async () => {
    const prompts = async (seed: number) => {
      const server = await fakeServer();
      await run(server, { seed, maxConcurrency: 1 });
      return server.bodies.map(({ prompt }) => prompt);
    };
    expect(await prompts(1)).toEqual(await prompts(1));
    expect(await prompts(1)).not.toEqual(await prompts(2));
  });

  it('counts pieces when the server does not count tokens', async () => {
    const [result] = await run(await fakeServer({ withUsage: false }), { numPrompts: 1 });
    expect(result?.metrics).toMatchObject({ totalInputTokens: 4, totalOutputTokens: 5 });
  });

  it('tells failures apart', async () => {
    expect(await firstError({ answer: () => 'refused' })).toBe('HTTP 429: too many requests');
    expect(await firstError({ answer: () => 'error' })).toBe('the engine died');
    expect(await firstError({ answer: () => 'broken' })).toBe('aborted');
    expect(await firstError({ answer: () => 'silent' }, { timeoutMs: 100 })).toBe(
      'no end after 0.1 s',
    );
  });

  it('ends with the reason when the warm-up fails', async () => {
    const server = await fakeServer({ answer: () => 'refused' });
    await expect(run(server, { numWarmups: 1 })).rejects.toThrow(
      'the warm-up request failed: HTTP 429: too many requests',
    );
  });
});

describe('askServer', () => {
  it('takes the first model, and knows Chairlift', async () => {
    const theirs = await fakeServer();
    expect(await askServer(new URL(theirs.url), {}, undefined)).toEqual({
      model: 'fake',
      isChairlift: false,
      maxModelLen: null,
    });
    const ours = await fakeServer({ ownedBy: 'chairlift', maxModelLen: 64 });
    expect(await askServer(new URL(ours.url), {}, undefined)).toEqual({
      model: 'fake',
      isChairlift: true,
      maxModelLen: 64,
    });
  });

  it('says when nobody is there', async () => {
    await expect(askServer(new URL('http://127.0.0.1:9/'), {}, 'm')).rejects.toThrow(
      'http://127.0.0.1:9/v1/models does not list models',
    );
  });
});

describe('joinUrl', () => {
  it.each([
    ['http://h:1', '/v1/x', 'http://h:1/v1/x'],
    ['http://h:1/', 'v1/x', 'http://h:1/v1/x'],
    ['http://h:1/base/', '/v1/x', 'http://h:1/base/v1/x'],
  ])('joins %s and %s', (base, endpoint, whole) => {
    expect(joinUrl(new URL(base), endpoint).href).toBe(whole);
  });
});
