/** Draining as probes see it, the metrics' own port, load reports, and what operators can look at. */
import { pino } from 'pino';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createApp } from '../../../src/server/app.ts';
import { ApiKeys, digestOf, unnamedKeys } from '../../../src/server/auth/api-keys.ts';
import { type Listener, listen } from '../../../src/server/http/listen.ts';
import { createMetricsApp } from '../../../src/server/metrics-app.ts';
import { errorOf, post } from '../support/client.ts';
import { babbles, MODEL, type TestServer, useServers } from '../support/test-server.ts';

const server = useServers();
const listeners: Listener[] = [];
afterEach(async () => {
  await Promise.all(listeners.splice(0).map((listener) => listener.close(0)));
});

const guarded = () => new ApiKeys(unnamedKeys(['key']), digestOf('root'));
const admin = { authorization: 'Bearer root' };

describe('a server that is leaving', () => {
  test.each([503, 404] as const)('is not ready (%s), and takes requests', async (drainStatus) => {
    const target = await server({ config: { drainStatus } });
    target.startLeaving();
    for (const path of ['/ready', '/readyz']) {
      await errorOf(await fetch(target.url + path), drainStatus);
    }
    expect((await fetch(`${target.url}/health`)).status).toBe(200);
    expect((await fetch(`${target.url}/livez`)).status).toBe(200);
    const response = await post(target, '/v1/completions', { prompt: 'Hi' });
    expect(response.status).toBe(200);
    expect(response.headers.get('connection')).toBe('close');
    target.startDraining();
    await errorOf(await post(target, '/v1/completions', { prompt: 'Hi' }), 503);
    await errorOf(await fetch(`${target.url}/ready`), drainStatus);
  });
});

describe('a port for metrics', () => {
  async function withOwnPort(): Promise<{ url: string; metricsUrl: string }> {
    const { context } = await server({ keys: guarded() });
    const open = { host: '127.0.0.1', port: 0 };
    const main = await listen(createApp(context, { hasMetrics: false }), open);
    const metrics = await listen(createMetricsApp(context), open);
    listeners.push(main, metrics);
    return { url: main.url, metricsUrl: metrics.url };
  }

  test('has them without a key, and probes, and nothing else; the other has no metrics', async () => {
    const { url, metricsUrl } = await withOwnPort();
    const page = await fetch(`${metricsUrl}/metrics`);
    expect(page.status).toBe(200);
    expect(await page.text()).toContain(`model_name="${MODEL}"`);
    for (const path of ['/ready', '/livez', '/health']) {
      expect((await fetch(metricsUrl + path)).status).toBe(200);
    }
    for (const path of ['/v1/models', '/admin/state', '/v1/requests']) {
      await errorOf(await fetch(metricsUrl + path, { headers: admin }), 404);
    }
    await errorOf(await post({ url: metricsUrl }, '/v1/completions', { prompt: 'Hi' }), 404);
    await errorOf(await fetch(`${url}/metrics`, { headers: admin }), 404);
  });
});

describe('a load report', () => {
  const ask = (target: TestServer, format: string, path = '/v1/completions') =>
    post(
      target,
      path,
      { prompt: 'Hi', stream: true },
      { headers: { 'endpoint-load-metrics-format': format } },
    );

  test('says how full the server is, as text or JSON, to those who ask', async () => {
    const target = await server({ script: babbles, engine: { heldAfter: 1 }, concurrency: 1 });
    const body = { prompt: 'Hi', max_tokens: 30, stream: true };
    const running = await post(target, '/v1/completions', body);
    const waiting = await post(target, '/v1/completions', body);
    const text = await ask(target, 'text');
    expect(text.headers.get('endpoint-load-metrics')).toBe(
      'TEXT named_metrics.kv_cache_usage_perc=0, named_metrics.num_requests_waiting=1, named_metrics.num_requests_running=1',
    );
    const json = await ask(target, 'JSON');
    expect(json.headers.get('endpoint-load-metrics')).toBe(
      'JSON {"named_metrics":{"kv_cache_usage_perc":0,"num_requests_waiting":2,"num_requests_running":1}}',
    );
    target.engine.release();
    await Promise.all([running, waiting, text, json].map((response) => response.text()));
    for (const format of ['', 'BINARY']) {
      const response = await ask(target, format);
      expect(response.headers.get('endpoint-load-metrics')).toBeNull();
      await response.text();
    }
  });
});

describe('an operator', () => {
  const ROUTES = [
    ['GET', '/admin/state'],
    ['GET', '/slots'],
    ['GET', '/admin/log-level'],
    ['POST', '/admin/log-level'],
  ] as const;

  test.each(ROUTES)('alone may %s %s', async (method, path) => {
    const target = await server({ keys: guarded() });
    const call = (headers: Record<string, string>) => fetch(target.url + path, { method, headers });
    await errorOf(await call({}), 401);
    await errorOf(await call({ authorization: 'Bearer key' }), 403);
    expect((await call(admin)).status).not.toBe(403);
  });

  test('sees the state of all, and no text', async () => {
    const target = await server({ script: babbles, engine: { heldAfter: 1 } });
    const leaving = new AbortController();
    const body = { prompt: 'a secret', max_tokens: 200, stream: true };
    await post(target, '/v1/completions', body, { signal: leaving.signal });
    const text = await (await fetch(`${target.url}/admin/state`)).text();
    leaving.abort();
    expect(JSON.parse(text)).toMatchObject({
      version: '1.2.3',
      is_leaving: false,
      engine_state: 'ready',
      models: [{ name: MODEL, state: 'ready' }],
      loaded: [
        {
          name: MODEL,
          kind: 'text',
          num_uses: 1,
          queue: { waiting: 0, running: 1 },
          stats: { numRunning: 1 },
        },
      ],
      num_requests: 1,
      requests: [{ model: MODEL, prompt_tokens: 8 }],
    });
    expect(text).not.toContain('secret');
  });

  test('sees the slots of the engines', async () => {
    const slots = await (await fetch(`${(await server()).url}/slots`)).json();
    expect(slots).toEqual([
      { id: 0, model: MODEL, n_ctx: 256, is_processing: false, kept_tokens: 12 },
    ]);
  });

  test('changes the level of the log', async () => {
    const lines: string[] = [];
    const logger = pino({ level: 'info' }, { write: (line) => void lines.push(line) });
    const target = await server({ logger });
    const levelUrl = `${target.url}/admin/log-level`;
    expect(await (await fetch(levelUrl)).json()).toEqual({ level: 'info' });
    await errorOf(await post(target, '/admin/log-level', { level: 'loud' }), 400);
    const answer = await post(target, '/admin/log-level', { level: 'error' });
    expect(await answer.json()).toEqual({ level: 'error' });
    expect(logger.level).toBe('error');
    const before = lines.length;
    await (await fetch(`${target.url}/v1/models`)).text();
    expect(lines).toHaveLength(before);
    await post(target, '/admin/log-level', { level: 'info' });
    await (await fetch(`${target.url}/v1/models`)).text();
    await vi.waitFor(() => expect(lines.length).toBeGreaterThan(before));
  });
});
