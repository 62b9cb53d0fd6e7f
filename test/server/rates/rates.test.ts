/** Requests and tokens per minute. */
import { once } from 'node:events';
import OpenAI from 'openai';
import { WebSocket } from 'ws';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ApiKeys, digestOf, unnamedKeys } from '../../../src/server/auth/api-keys.ts';
import { parseApiKeys } from '../../../src/server/auth/api-key-file.ts';
import { networkOf } from '../../../src/server/http/network-of.ts';
import { goDuration } from '../../../src/server/http/rate-headers.ts';
import { RateLimits } from '../../../src/server/rates/rate-limits.ts';
import { errorOf, post } from '../support/client.ts';
import { babbles, MODEL, says, useServers } from '../support/test-server.ts';
import { connect } from '../support/web-socket.ts';

const server = useServers();
const a = { authorization: 'Bearer key-a' };
const b = { authorization: 'Bearer key-b' };
/** Two prompt tokens, and four of the answer. */
const body = { prompt: 'Hi', max_tokens: 4 };
const PATH = '/v1/completions';

function headersOf(response: Response, unit: 'requests' | 'tokens') {
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((what) =>
    response.headers.get(`x-ratelimit-${what}-${unit}`),
  );
  return { limit, remaining, reset };
}

describe('requests', () => {
  test('are counted for each key, with the headers of OpenAI', async () => {
    const target = await server({
      config: { apiKeys: ['key-a', 'key-b'] },
      rates: { requests: 2 },
    });
    const first = await post(target, PATH, body, { headers: a });
    expect(headersOf(first, 'requests')).toEqual({
      limit: '2',
      remaining: '1',
      reset: expect.stringMatching(/^(1m0s|[5-9]\d(\.\d+)?s)$/),
    });
    expect(headersOf(first, 'tokens')).toEqual({ limit: null, remaining: null, reset: null });
    const stream = await post(target, PATH, { ...body, stream: true }, { headers: a });
    await stream.text();
    expect(headersOf(stream, 'requests').remaining).toBe('0');
    const refused = await post(target, PATH, body, { headers: a });
    expect(headersOf(refused, 'requests').remaining).toBe('0');
    const seconds = Number(refused.headers.get('retry-after'));
    expect(seconds).toBeGreaterThan(30);
    expect(Math.ceil(Number(refused.headers.get('retry-after-ms')) / 1000)).toBe(seconds);
    expect(refused.headers.get('x-should-retry')).toBe('true');
    expect(await errorOf(refused, 429)).toMatchObject({
      type: 'requests',
      code: 'rate_limit_exceeded',
    });
    expect(target.engine.requests).toHaveLength(2);
    expect((await post(target, PATH, body, { headers: b })).status).toBe(200);
    expect(await (await fetch(`${target.url}/metrics`)).text()).toContain(
      'chairlift_rate_limited_total{unit="requests"} 1',
    );
  });

  test('of a server without keys are counted for each address', async () => {
    const target = await server({ rates: { requests: 1 } });
    expect((await post(target, PATH, body)).status).toBe(200);
    // Whatever it says of itself.
    await errorOf(await post(target, PATH, { ...body, user: 'other' }), 429);
    const options = { headers: { 'x-forwarded-for': '10.1.2.3' } };
    await errorOf(await post(target, PATH, body, options), 429);
    expect(networkOf('2001:db8::1')).toBe(networkOf('2001:db8::2'));
  });

  test('of a WebSocket count like others', async () => {
    const target = await server({ rates: { requests: 1 } });
    const socket = await connect(target, PATH);
    socket.send({ request_id: '1', ...body });
    await socket.answer('1');
    socket.send({ request_id: '2', ...body });
    const [refusal] = await socket.answer('2');
    expect(refusal?.error?.code).toBe('rate_limit_exceeded');
    const responses = new WebSocket(`${target.url.replace('http', 'ws')}/v1/responses`);
    await once(responses, 'open');
    responses.send(JSON.stringify({ type: 'response.create', input: 'Hi' }));
    const [message] = (await once(responses, 'message')) as [Buffer];
    expect(JSON.parse(message.toString('utf8'))).toMatchObject({ type: 'error', status: 429 });
    responses.close();
    await errorOf(await post(target, PATH, body), 429);
    expect(target.engine.requests).toHaveLength(1);
  });

  test('that are refused for want of a key, and probes, take nothing; the operator has no limit', async () => {
    const keys = new ApiKeys(unnamedKeys(['key-a']), digestOf('root'));
    const target = await server({ keys, rates: { requests: 1 } });
    for (let index = 0; index < 3; index++) {
      await errorOf(await post(target, PATH, body), 401);
      expect((await fetch(`${target.url}/health`)).status).toBe(200);
      expect((await fetch(`${target.url}/v1/models`, { headers: a })).status).toBe(200);
      const root = { headers: { authorization: 'Bearer root' } };
      expect((await post(target, PATH, body, root)).status).toBe(200);
    }
    expect((await post(target, PATH, body, { headers: a })).status).toBe(200);
  });

  test("OpenAI's client waits as it is told", async () => {
    const target = await server({ rates: { requests: 1 } });
    const waits: number[] = [];
    const timer = vi.spyOn(globalThis, 'setTimeout');
    const client = new OpenAI({
      baseURL: `${target.url}/v1`,
      apiKey: 'none',
      maxRetries: 1,
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        waits.push(Number(response.headers.get('retry-after-ms')));
        return response;
      },
    });
    await client.completions.create({ model: MODEL, ...body });
    const aborting = new AbortController();
    const refused = client.completions.create(
      { model: MODEL, ...body },
      { signal: aborting.signal },
    );
    await vi.waitFor(() => expect(waits).toHaveLength(2));
    expect(waits[1]).toBeGreaterThan(30_000);
    await vi.waitFor(() => expect(timer).toHaveBeenCalledWith(expect.anything(), waits[1]));
    timer.mockRestore();
    // The client looks at its signal only when its wait is over, which nobody stays for.
    refused.catch(() => {});
    aborting.abort();
  });
});

describe('tokens', () => {
  test('are taken before a request runs, and what it did not use is given back', async () => {
    const target = await server({ script: says('ok'), rates: { tokens: 100 } });
    const response = await post(target, PATH, { prompt: 'Hi', max_tokens: 90 });
    // Two of the prompt, two of the answer, and its end.
    expect(headersOf(response, 'tokens')).toMatchObject({ limit: '100', remaining: '95' });
    const stream = await post(target, PATH, { prompt: 'Hi', max_tokens: 90, stream: true });
    expect(headersOf(stream, 'tokens').remaining).toBe('3');
    await stream.text();
    const next = await post(target, PATH, { prompt: 'Hi', max_tokens: 80 });
    expect(headersOf(next, 'tokens').remaining).toBe('85');
  });

  test('that a running request may still use are not to be had', async () => {
    const target = await server({
      script: babbles,
      engine: { heldAfter: 10 },
      rates: { tokens: 100 },
    });
    const leaving = new AbortController();
    const long = { prompt: 'Hi', max_tokens: 90, stream: true };
    await post(target, PATH, long, { signal: leaving.signal });
    const refused = await post(target, PATH, long);
    expect(headersOf(refused, 'tokens').remaining).toBe('8');
    expect(await errorOf(refused, 429)).toMatchObject({ type: 'tokens' });
    // The refusal took nothing.
    const small = await post(target, PATH, { prompt: 'Hi', max_tokens: 6 });
    expect(small.status).toBe(200);
    leaving.abort();
    await vi.waitFor(async () => {
      expect((await post(target, PATH, { prompt: 'Hi', max_tokens: 10 })).status).toBe(200);
    });
  });

  test('of all choices count, and the prompt once', async () => {
    const target = await server({ script: says('ok'), rates: { tokens: 1000 } });
    const response = await post(target, PATH, { prompt: 'Hi', max_tokens: 90, n: 3 });
    expect(headersOf(response, 'tokens').remaining).toBe(String(1000 - 2 - 3 * 3));
  });

  test('of a request that may come to more than the limit are all there are, and it owes the rest', async () => {
    const target = await server({ script: babbles, rates: { tokens: 50 } });
    const large = { prompt: 'Hi', max_tokens: 100 };
    const response = await post(target, PATH, large);
    expect(response.status).toBe(200);
    expect(headersOf(response, 'tokens').remaining).toBe('0');
    await errorOf(await post(target, PATH, { prompt: 'Hi', max_tokens: 1 }), 429);
  });

  test('of a request that the queue refused are given back', async () => {
    const target = await server({
      script: babbles,
      engine: { heldAfter: 1 },
      concurrency: 1,
      maxQueue: 0,
      rates: { tokens: 100 },
    });
    const running = post(target, PATH, { prompt: 'Hi', max_tokens: 10 });
    await vi.waitFor(() => expect(target.engine.running).toBe(1));
    await errorOf(await post(target, PATH, { prompt: 'Hi', max_tokens: 80 }), 429);
    target.engine.release();
    await running;
    const response = await post(target, PATH, { prompt: 'Hi', max_tokens: 80 });
    expect(response.status).toBe(200);
  });

  test.each([
    ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 4 }],
    ['/v1/messages', { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 4 }],
    ['/v1/responses', { input: 'Hi', max_output_tokens: 16 }],
    ['/v1/responses', { input: 'Hi', max_output_tokens: 16, background: true }],
  ])('are counted by %s', async (path, request) => {
    const target = await server({ script: babbles, rates: { tokens: 1000 } });
    const response = await post(target, path, request);
    expect(response.status).toBe(200);
    const remaining = Number(headersOf(response, 'tokens').remaining);
    expect(remaining).toBeGreaterThan(900);
    expect(remaining).toBeLessThan(1000);
    await vi.waitFor(() => expect(target.context.running.size).toBe(0));
  });
});

describe("a key's own rates", () => {
  const text = 'alice key-a requests=1\nbob key-b tokens=5 requests=3\ncarol key-c\n';

  test('take the place of those of all', async () => {
    const keys = new ApiKeys(parseApiKeys(text));
    const target = await server({ keys, rates: { requests: 2 } });
    const limits = await Promise.all(
      ['a', 'b', 'c'].map(async (key) => {
        const headers = { authorization: `Bearer key-${key}` };
        const response = await post(target, PATH, { prompt: 'Hi', max_tokens: 1 }, { headers });
        return [headersOf(response, 'requests').limit, headersOf(response, 'tokens').limit];
      }),
    );
    expect(limits).toEqual([
      ['1', null],
      ['3', '5'],
      ['2', null],
    ]);
  });

  test.each(['alice k requests=0', 'alice k request=1', 'alice k tokens=1 tokens=2', 'alice k x'])(
    '%s is an error that names its line',
    (line) => {
      expect(() => parseApiKeys(`# keys\n${line}`)).toThrow(/^line 2: expected `name key`/);
    },
  );
});

describe('a minute', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'Date', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  test('brings all of it back at its end, and nothing is given back twice', async () => {
    const rates = new RateLimits({ rates: { requests: null, tokens: 100 } });
    const remaining: string[] = [];
    const meter = await rates.takeRequest('me', (headers) =>
      remaining.push(headers['x-ratelimit-remaining-tokens'] ?? ''),
    );
    const settle = await meter?.charge(90);
    await expect(meter?.charge(20)).rejects.toMatchObject({ status: 429 });
    vi.advanceTimersByTime(61_000);
    await meter?.charge(20);
    await settle?.(10);
    await meter?.charge(80);
    expect(remaining).toEqual(['10', '10', '80', '0']);
    await expect(meter?.charge(1)).rejects.toMatchObject({ status: 429 });
  });
});

test.each([
  [0, '0ms'],
  [11.2, '12ms'],
  [1000, '1s'],
  [1500, '1.5s'],
  [60_000, '1m0s'],
  [360_000, '6m0s'],
])('%d ms are %s, as Go writes them', (ms, text) => {
  expect(goDuration(ms)).toBe(text);
});
