import { expect, test } from 'vitest';
import { z } from 'zod';
import { ApiKeys, digestOf, unnamedKeys } from '../../../src/server/auth/api-keys.ts';
import { chunksOf, errorOf, post } from '../support/client.ts';
import { babbles, MODEL, type TestServer, useServers } from '../support/test-server.ts';
import { modelDefinition } from '../../front/registry/fake-loader.ts';

const server = useServers();

const errorEntry = z.object({
  what: z.string(),
  status: z.number().nullable(),
  code: z.string().nullable(),
  model: z.string().nullable(),
  client: z.string().nullable(),
  count: z.number(),
  first_at: z.number(),
  last_at: z.number(),
});

const status = z.looseObject({
  now: z.number(),
  models: z.array(z.looseObject({ id: z.string(), state: z.string() })),
  requests: z.object({ open: z.number(), ended: z.number(), failures: z.number() }),
  latency: z.object({
    window_ms: z.number(),
    of: z.record(
      z.string(),
      z.object({
        count: z.number(),
        p50: z.number().nullable(),
        p90: z.number().nullable(),
        p99: z.number().nullable(),
      }),
    ),
  }),
  errors: z.object({ failures: z.array(errorEntry), refusals: z.array(errorEntry) }),
  history: z
    .object({
      interval_ms: z.number(),
      times: z.array(z.number()),
      series: z.record(z.string(), z.array(z.number().nullable())),
    })
    .optional(),
});

async function statusOf({ url }: TestServer, query = '', key?: string) {
  const headers: Record<string, string> = key === undefined ? {} : { 'x-api-key': key };
  const response = await fetch(`${url}/admin/status${query}`, { headers });
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status: 200 });
  return { ...status.parse(JSON.parse(text)), text };
}

const completion = { prompt: 'Hi', max_tokens: 5, stream: true };

test('says what requests took, by stage, and of models what they do', async () => {
  const target = await server();
  for (let index = 0; index < 4; index++) {
    await chunksOf(await post(target, '/v1/completions', completion));
  }
  await expect.poll(async () => (await statusOf(target)).latency.of['send']?.count).toBe(4);
  const { latency, models, requests } = await statusOf(target);
  expect(latency.of).toMatchObject({
    ttft: { count: 4 },
    itl: { count: 16 },
    e2e: { count: 4 },
    queue: { count: 4 },
    prefill: { count: 4 },
    decode: { count: 4 },
  });
  const { p50, p90, p99 } = latency.of['e2e'] ?? {};
  expect(p50).toBeGreaterThan(0);
  expect(p90).toBeGreaterThanOrEqual(p50 ?? NaN);
  expect(p99).toBeGreaterThanOrEqual(p90 ?? NaN);
  expect(requests).toEqual({ open: 0, ended: 4, failures: 0 });
  expect(models).toEqual([
    expect.objectContaining({ id: MODEL, state: 'ready', kind: 'text', crashes: 0 }),
  ]);
});

test('tells how many run at once, not only the slots, which keep ended texts too', async () => {
  const target = await server({ engine: { info: { numSlots: 16, maxNumSeqs: 8 } } });
  const { models } = await statusOf(target);
  expect(models[0]?.['engine']).toMatchObject({ slots: 16, max_num_seqs: 8 });
});

test('the last hour is told when it is asked for, and only what is newer', async () => {
  const target = await server();
  expect((await statusOf(target)).history).toBeUndefined();
  expect((await statusOf(target, '?since=0')).history?.times).toEqual([]);
  await chunksOf(await post(target, '/v1/completions', completion));
  await target.sampler.sample();
  const first = (await statusOf(target, '?since=0')).history;
  expect(first?.times).toHaveLength(1);
  expect(first?.series['generated_tokens_per_second']?.[0]).toBeGreaterThan(0);
  expect(first?.series['requests_per_second']?.[0]).toBeGreaterThan(0);
  expect(first?.series['ttft_p50_ms']?.[0]).toBeGreaterThan(0);
  expect(first?.series['cpus']?.[0]).toBeGreaterThan(0);
  expect(first?.series['rss_bytes']?.[0]).toBeGreaterThan(2 ** 20);
  // Nothing was looked up: there is no rate of hits.
  expect(first?.series['prefix_cache_hit_rate']).toEqual([null]);
  await expect.poll(() => Date.now()).toBeGreaterThan(first?.times[0] ?? Infinity);
  await target.sampler.sample();
  const rest = (await statusOf(target, `?since=${first?.times[0]}`)).history;
  expect(rest?.times).toHaveLength(1);
  expect(rest?.series['generated_tokens_per_second']).toEqual([0]);
  await errorOf(await fetch(`${target.url}/admin/status?since=soon`), 400);
});

test('an hour of samples and a flood of errors stay small', async () => {
  const target = await server();
  for (let index = 0; index < 800; index++) await target.sampler.sample();
  const { history, text } = await statusOf(target, '?since=0');
  expect(history?.times).toHaveLength(720);
  expect(text.length).toBeLessThan(200_000);
});

test('errors are told by what they were: no text, no key, no path', async () => {
  const target = await server({
    keys: new ApiKeys(unnamedKeys(['user-key']), digestOf('admin-key')),
    script: () => {
      throw new Error('the engine saw secret words');
    },
  });
  const user = { headers: { 'x-api-key': 'user-key' } };
  await post(target, '/v1/completions', { prompt: 'secret words' }, user);
  await post(target, '/v1/completions', { prompt: 'secret words', max_tokens: 'x' }, user);
  await fetch(`${target.url}/v1/responses/secret-id`, user);
  await fetch(`${target.url}/v1/models`, { headers: { 'x-api-key': 'wrong-key' } });
  await expect
    .poll(async () => (await statusOf(target, '', 'admin-key')).errors.refusals.length)
    .toBe(3);
  const { errors, requests, text } = await statusOf(target, '', 'admin-key');
  expect(errors.failures).toEqual([
    expect.objectContaining({
      what: 'POST /v1/completions',
      status: 500,
      code: 'internal_error',
      model: MODEL,
      client: '#0845e3658edc',
      count: 1,
    }),
  ]);
  const refusals = errors.refusals.map(({ what, status: answered, client }) => [
    what,
    answered,
    client,
  ]);
  expect(refusals).toContainEqual(['POST /v1/completions', 400, '#0845e3658edc']);
  expect(refusals).toContainEqual(['GET /v1/responses/:id', 404, '#0845e3658edc']);
  expect(refusals.some(([, answered, client]) => answered === 401 && client === null)).toBe(true);
  expect(requests.failures).toBe(1);
  expect(text).not.toMatch(/secret|user-key|wrong-key|admin-key/);
});

test('an answer that fails in its midst is a failure, though its status was 200', async () => {
  const target = await server({
    *script() {
      yield 1;
      throw new Error('gone');
    },
  });
  await (await post(target, '/v1/completions', completion)).text();
  await expect
    .poll(async () => (await statusOf(target)).errors.failures)
    .toEqual([expect.objectContaining({ what: 'POST /v1/completions', status: 200 })]);
});

test('a client that leaves is no trouble', async () => {
  const target = await server({ script: babbles, engine: { heldAfter: 1 }, maxModelLen: 100_000 });
  const leaving = new AbortController();
  const body = { ...completion, max_tokens: 50_000 };
  const response = await post(target, '/v1/completions', body, { signal: leaving.signal });
  await response.body?.getReader().read();
  leaving.abort();
  await expect.poll(() => target.engine.running).toBe(0);
  await expect.poll(async () => (await statusOf(target)).requests.ended).toBe(1);
  expect((await statusOf(target)).errors).toEqual({ failures: [], refusals: [] });
});

test('models that are not loaded are there, with why', async () => {
  const target = await server({
    control: 'explicit',
    models: [
      modelDefinition(MODEL, {}, { preload: true }),
      modelDefinition('other'),
      modelDefinition('broken', { failure: 'no such file' }),
    ],
  });
  await errorOf(await post(target, '/models/load', { model: 'broken' }), 503);
  await errorOf(await post(target, '/v1/completions', { model: 'broken', prompt: 'Hi' }), 503);
  await expect.poll(async () => (await statusOf(target)).requests.failures).toBe(2);
  const { errors, models } = await statusOf(target);
  expect(errors.failures[0]).toMatchObject({
    what: 'POST /v1/completions',
    status: 503,
    code: 'model_load_failed',
    model: 'broken',
  });
  expect(models.map(({ id, state }) => [id, state])).toEqual([
    ['broken', 'failed'],
    [MODEL, 'ready'],
    ['other', 'unloaded'],
  ]);
  expect(models[0]).toMatchObject({ reason: expect.stringContaining('no such file') });
});

test.each(['/admin/status', '/admin/config'])("%s is the operator's alone", async (path) => {
  const open = await server();
  expect((await fetch(`${open.url}${path}`)).status).toBe(200);
  const forwarded = { headers: { 'x-forwarded-for': '10.0.0.1' } };
  await errorOf(await fetch(`${open.url}${path}`, forwarded), 403);
  const elsewhere = { headers: { origin: 'https://pages.example' } };
  await errorOf(await fetch(`${open.url}${path}`, elsewhere), 403);
  const keys = new ApiKeys(unnamedKeys(['user-key']), digestOf('admin-key'));
  const { url } = await server({ keys });
  await errorOf(await fetch(`${url}${path}`), 401);
  await errorOf(await fetch(`${url}${path}`, { headers: { 'x-api-key': 'user-key' } }), 403);
  const answer = await fetch(`${url}${path}`, { headers: { 'x-api-key': 'admin-key' } });
  expect(answer.status).toBe(200);
  const noAdmin = await server({ config: { apiKeys: ['user-key'] } });
  const user = { headers: { 'x-api-key': 'user-key' } };
  await errorOf(await fetch(`${noAdmin.url}${path}`, user), 403);
});

test('/admin/config tells each flag and who set it, and hides keys', async () => {
  const { url } = await server({
    settings: [
      {
        flag: '--port',
        environment: 'CHAIRLIFT_PORT',
        meaning: 'port to listen on',
        source: 'config file',
        value: 9000,
        defaultText: '8000',
        isSecret: false,
      },
      {
        flag: '--resume-key',
        environment: 'CHAIRLIFT_RESUME_KEY',
        meaning: 'secret of all replicas',
        source: 'environment',
        value: 'a very secret key',
        defaultText: null,
        isSecret: true,
      },
    ],
  });
  const text = await (await fetch(`${url}/admin/config`)).text();
  expect(JSON.parse(text)).toEqual({
    object: 'list',
    data: [
      {
        flag: '--port',
        environment: 'CHAIRLIFT_PORT',
        meaning: 'port to listen on',
        source: 'config file',
        value: 9000,
        default: '8000',
        is_set: true,
        is_secret: false,
      },
      expect.objectContaining({ flag: '--resume-key', value: null, is_set: true, is_secret: true }),
    ],
  });
  expect(text).not.toContain('a very secret key');
});
