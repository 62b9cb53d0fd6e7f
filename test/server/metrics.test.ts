import { expect, test, vi } from 'vitest';
import { chunksOf, errorOf, post } from './support/client.ts';
import { babbles, MODEL, useServers } from './support/test-server.ts';

const server = useServers();

/** Every sample of the page, by name and labels other than the model's. */
const OF_THE_MODEL = new RegExp(`model_name="${MODEL}"`);

async function samplesOf({ url }: { readonly url: string }): Promise<Map<string, number>> {
  const response = await fetch(`${url}/metrics`);
  expect(response.headers.get('content-type')).toContain('text/plain');
  const samples = new Map<string, number>();
  for (const line of (await response.text()).split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    // The only one that is of all models.
    expect(line).toMatch(line.startsWith('chairlift_models{') ? /state=/ : OF_THE_MODEL);
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
    request_prompt_tokens_sum: 20,
    request_generation_tokens_sum: 50,
    'request_generation_tokens_bucket{le="2"}': 0,
    'request_generation_tokens_bucket{le="5"}': 10,
    num_requests_running: 0,
    num_requests_waiting: 0,
    kv_cache_usage_perc: 0,
  };
  expect(Object.fromEntries(samples)).toMatchObject(expected);
});

test('gauges follow what runs and waits; aborted and refused requests are counted', async () => {
  const target = await server({
    script: babbles,
    engine: { delayMs: 5 },
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
