/** Usage of each key. */
import { expect, test } from 'vitest';
import { ApiKeys, digestOf, unnamedKeys } from '../../../src/server/auth/api-keys.ts';
import { GenerationCache } from '../../../src/front/response-cache/generation-cache.ts';
import { TwoLevelCache } from '../../../src/front/response-cache/two-level-cache.ts';
import { errorOf, post, type Target } from '../support/client.ts';
import { MODEL, says, useServers } from '../support/test-server.ts';

const server = useServers();
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

async function complete(target: Target, key: string): Promise<void> {
  const body = { prompt: 'Hi', temperature: 0, max_tokens: 4 };
  const response = await post(target, '/v1/completions', body, { headers: bearer(key) });
  expect(response.status).toBe(200);
  await response.arrayBuffer();
}

async function usageOf(target: Target, key: string): Promise<unknown> {
  const response = await fetch(`${target.url}/v1/usage`, { headers: bearer(key) });
  expect(response.status).toBe(200);
  return response.json();
}

function entry(client: string, requests: number, cached: number) {
  const computed = requests - cached;
  return {
    object: 'usage',
    client,
    model: MODEL,
    requests,
    cached_requests: cached,
    prompt_tokens: 2 * computed,
    completion_tokens: 4 * computed,
    total_tokens: 6 * computed,
  };
}

test('is told to the operator: requests and tokens, and what cost nothing', async () => {
  const store = new TwoLevelCache({ maxBytes: 2 ** 20, maxEntryBytes: 2 ** 20, ttlMs: 60_000 });
  const target = await server({
    script: says('Hello there!'),
    keys: new ApiKeys(unnamedKeys(['key-a', 'key-b']), digestOf('admin')),
    answers: new GenerationCache(store),
  });
  await complete(target, 'key-a');
  await complete(target, 'key-a');
  await complete(target, 'key-b');
  expect(await usageOf(target, 'admin')).toMatchObject({
    object: 'list',
    data: [entry('#a30534a53b23', 1, 0), entry('#f10f781241e2', 2, 1)],
  });
  const refused = await fetch(`${target.url}/v1/usage`, { headers: bearer('key-a') });
  expect(await errorOf(refused, 403)).toBeDefined();
});

test('of others is not told where there is no operator', async () => {
  const target = await server({ config: { apiKeys: ['key-a', 'key-b'] } });
  await complete(target, 'key-a');
  await complete(target, 'key-b');
  expect(await usageOf(target, 'key-b')).toMatchObject({ data: [entry('#a30534a53b23', 1, 0)] });
});
