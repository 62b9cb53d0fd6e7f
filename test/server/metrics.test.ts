import { expect, test, vi } from 'vitest';
import { chunksOf, errorOf, eventsOf, post } from './support/client.ts';
import { babbles, MODEL, useServers } from './support/test-server.ts';

const server = useServers();

/** Every sample of the page, by name and labels other than the model's. */
const OF_THE_MODEL = new RegExp(`model_name="${MODEL}"`);

/** Metrics that are of all models, and the label that they have. */
const OF_THE_SERVER: readonly (readonly [string, RegExp])[] = [
  ['chairlift_models{', /state=/],
  ['chairlift_http_requests_total{', /route=/],
  ['chairlift_slo_', /class=/],
  ['chairlift_uncaught_errors_total ', /0/],
];

async function samplesOf({ url }: { readonly url: string }): Promise<Map<string, number>> {
  const response = await fetch(`${url}/metrics`);
  expect(response.headers.get('content-type')).toContain('text/plain');
  const samples = new Map<string, number>();
  for (const line of (await response.text()).split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const [, label] = OF_THE_SERVER.find(([start]) => line.startsWith(start)) ?? [];
    expect(line).toMatch(label ?? OF_THE_MODEL);
    const [name = '', value] = line.replace(/,?model_name="[^"]*"/, '').split(' ');
    samples.set(name.replace('{}', '').replace('chairlift_', ''), Number(value));
  }
  return samples;
}

test('ten requests move counters and histograms by exact amounts', async () => {
  const target = await server();
  const body = { prompt: 'Hi', max_tokens: 5, stream: true };
  for (let index = 0; index < 10; index++) {
    await chunksOf(await post(target, '/v1/completions', body));
  }
  const samples = await samplesOf(target);
  const expected = {
    prompt_tokens_total: 20,
    generation_tokens_total: 50,
    'request_success_total{finished_reason="length"}': 10,
    'request_success_total{finished_reason="stop"}': 0,
    'request_rejected_total{reason="requests"}': 0,
    time_to_first_token_seconds_count: 10,
    inter_token_latency_seconds_count: 40,
    e2e_request_latency_seconds_count: 10,
    request_queue_time_seconds_count: 10,
    request_prefill_time_seconds_count: 10,
    request_decode_time_seconds_count: 10,
    request_inference_time_seconds_count: 10,
    request_time_per_output_token_seconds_count: 10,
    request_params_max_tokens_sum: 50,
    // Counts of the fake engine, a token in each step.
    iteration_tokens_total_sum: 50,
    iteration_tokens_total_count: 50,
    'cache_config_info{block_size="16",num_gpu_blocks="64"}': 1,
    engine_heartbeat_age_seconds: 0,
    'engine_state{state="ready"}': 1,
    'engine_state{state="failed"}': 0,
    'http_requests_total{method="POST",route="/v1/completions",status="200"}': 10,
    request_prompt_tokens_sum: 20,
    request_generation_tokens_sum: 50,
    'request_generation_tokens_bucket{le="2"}': 0,
    'request_generation_tokens_bucket{le="5"}': 10,
    'prefix_cache_misses_total{cause="changed"}': 0,
    external_prefix_cache_queries_total: 0,
    external_prefix_cache_hits_total: 0,
    'prefix_tier_bytes{place="memory"}': 0,
    'prefix_tier_blocks{place="folder"}': 0,
    prefix_tier_blocks_saved_total: 0,
    prefix_tier_texts_lost_total: 0,
    prefix_tier_errors_total: 0,
    num_requests_running: 0,
    num_requests_waiting: 0,
    kv_cache_usage_perc: 0,
  };
  expect(Object.fromEntries(samples)).toMatchObject(expected);
});

test('gauges follow what runs and waits; aborted and refused requests are counted', async () => {
  const target = await server({
    script: babbles,
    engine: { heldAfter: 1 },
    concurrency: 1,
    maxQueue: 1,
  });
  const abort = new AbortController();
  const body = { prompt: 'Hi', max_tokens: 200, stream: true };
  await post(target, '/v1/completions', body, { signal: abort.signal });
  await post(target, '/v1/completions', body, { signal: abort.signal });
  await errorOf(await post(target, '/v1/completions', body), 429);
  expect(Object.fromEntries(await samplesOf(target))).toMatchObject({
    num_requests_running: 1,
    num_requests_waiting: 1,
    'num_requests_waiting_by_reason{reason="capacity"}': 1,
    num_prompt_tokens_waiting: 2,
    'request_rejected_total{reason="requests"}': 1,
    'request_rejected_total{reason="tokens"}': 0,
  });
  abort.abort();
  await vi.waitFor(async () => {
    expect(Object.fromEntries(await samplesOf(target))).toMatchObject({
      num_requests_running: 0,
      num_requests_waiting: 0,
      'request_success_total{finished_reason="abort"}': 2,
    });
  });
});

test('requests that run out of time are counted as that, in the queue, while they run and as a stream', async () => {
  const target = await server({
    script: babbles,
    engine: { heldAfter: 1 },
    concurrency: 1,
    config: { requestTimeoutMs: 300 },
  });
  const body = { prompt: 'Hi', max_tokens: 200 };
  await Promise.all([
    post(target, '/v1/completions', { ...body, stream: true }).then(eventsOf),
    post(target, '/v1/completions', body).then((answer) => errorOf(answer, 504)),
    post(target, '/v1/completions', { ...body, n: 2 }).then((answer) => errorOf(answer, 504)),
  ]);
  expect(Object.fromEntries(await samplesOf(target))).toMatchObject({
    'request_success_total{finished_reason="timeout"}': 4,
    'request_success_total{finished_reason="abort"}': 0,
    'request_success_total{finished_reason="error"}': 0,
    'http_requests_total{method="POST",route="/v1/completions",status="504"}': 2,
  });
  // The stream, too, whose status was 200.
  expect(target.context.troubles.numFailures).toBe(3);
});

test('the prefill and the decode time of a request make up its inference time', async () => {
  const target = await server({ script: babbles, engine: { delayMs: 5 } });
  const body = { prompt: 'Hi', max_tokens: 4, stream: true };
  await chunksOf(await post(target, '/v1/completions', body));
  const samples = await samplesOf(target);
  const sumOf = (name: string) => samples.get(`request_${name}_seconds_sum`) ?? NaN;
  expect(sumOf('prefill_time')).toBeGreaterThan(0.004);
  expect(sumOf('decode_time')).toBeGreaterThan(0.01);
  expect(sumOf('prefill_time') + sumOf('decode_time')).toBeCloseTo(sumOf('inference_time'), 6);
  expect(sumOf('time_per_output_token')).toBeCloseTo(sumOf('decode_time') / 3, 6);
});

test('a hung engine and an open circuit breaker show', async () => {
  const target = await server();
  target.engine.silentMs = 20_000;
  target.engine.state = 'failed';
  expect(Object.fromEntries(await samplesOf(target))).toMatchObject({
    engine_heartbeat_age_seconds: 20,
    'engine_state{state="ready"}': 0,
    'engine_state{state="failed"}': 1,
  });
});

test('HTTP requests are counted by pattern of their route: clients cannot make series', async () => {
  const target = await server();
  for (const path of ['/a', '/b/c', '/v1/models/one', '/v1/models/two', '/health']) {
    await (await fetch(target.url + path)).text();
  }
  await (await fetch(`${target.url}/v1/completions`)).text();
  const counts = [...(await samplesOf(target))].filter(([name]) => name.startsWith('http_'));
  expect(counts).toEqual([
    ['http_requests_total{method="GET",route="other",status="404"}', 2],
    ['http_requests_total{method="GET",route="/v1/models/:id{.+}",status="404"}', 2],
    ['http_requests_total{method="GET",route="/health",status="200"}', 1],
    ['http_requests_total{method="GET",route="other",status="405"}', 1],
  ]);
});
