/** Models that requests have loaded by naming them. */
import { expect, test } from 'vitest';
import { ApiKeys, digestOf, unnamedKeys } from '../../src/server/auth/api-keys.ts';
import { LIMITS } from '../../src/limits.ts';
import { modelDefinition } from '../front/registry/fake-loader.ts';
import { errorOf, post } from './support/client.ts';
import { useServers } from './support/test-server.ts';

const server = useServers();

const NAMES = Array.from({ length: LIMITS.clientLoadsPerMinute + 2 }, (_, index) => `m${index}`);

const models = NAMES.map((name) => modelDefinition(name));

test('a client has so many models loaded in a minute; what is loaded serves, and others load theirs', async () => {
  const keys = new ApiKeys(unnamedKeys(['key-a', 'key-b']), digestOf('admin'));
  const target = await server({ control: 'auto', models, keys });
  const ask = (key: string, model: string) =>
    post(
      target,
      '/v1/completions',
      { model, prompt: 'Hi', max_tokens: 1 },
      { headers: { authorization: `Bearer ${key}` } },
    );
  const statusOf = async (key: string, model = '') => {
    const response = await ask(key, model);
    await response.text();
    return response.status;
  };
  const [last = '', ...first] = NAMES.toReversed();
  const allowed = first.toReversed().slice(0, LIMITS.clientLoadsPerMinute);
  for (const model of allowed) expect(await statusOf('key-a', model)).toBe(200);
  const refused = await ask('key-a', last);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await errorOf(refused, 429)).toMatchObject({ code: 'too_many_loads' });
  expect(await statusOf('key-a', allowed[0])).toBe(200);
  expect(await statusOf('admin', NAMES.at(-2))).toBe(200);
  expect(await statusOf('key-b', last)).toBe(200);
  // It is there now, whoever had it loaded.
  expect(await statusOf('key-a', last)).toBe(200);
});
