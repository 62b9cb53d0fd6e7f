/** Triton's repository extension over REST. */
import { expect, test } from 'vitest';
import { ApiKeys, digestOf, unnamedKeys } from '../../../src/server/auth/api-keys.ts';
import { post } from '../support/client.ts';
import { MODEL, useServers } from '../support/test-server.ts';

const server = useServers();

const index = async (url: string, body: object = {}) => {
  const response = await post({ url }, '/v2/repository/index', body);
  return { status: response.status, models: await response.json() };
};

test('index, unload, load', async () => {
  const { url } = await server({ control: 'explicit' });
  const ready = { name: MODEL, version: '1', state: 'READY', reason: '' };
  expect(await index(url)).toEqual({ status: 200, models: [ready] });
  const models = `/v2/repository/models/${MODEL}`;
  expect((await fetch(`${url}${models}/unload`, { method: 'POST' })).status).toBe(200);
  expect(await index(url)).toMatchObject({
    models: [{ state: 'UNAVAILABLE', reason: 'unloaded' }],
  });
  expect(await index(url, { ready: true })).toMatchObject({ models: [] });
  expect((await fetch(`${url}/v2/models/${MODEL}/ready`)).status).toBe(503);
  const infer = await post({ url }, `/v2/models/${MODEL}/generate`, { text_input: 'a' });
  expect({ status: infer.status, body: await infer.json() }).toEqual({
    status: 503,
    body: { error: `Model \`${MODEL}\` is not loaded.` },
  });
  expect((await post({ url }, `${models}/load`, {})).status).toBe(200);
  expect(await index(url, { ready: true })).toMatchObject({ models: [ready] });
});

test('what cannot be loaded', async () => {
  const { url } = await server({ control: 'explicit' });
  expect((await post({ url }, '/v2/repository/models/none/load', {})).status).toBe(404);
  expect((await post({ url }, '/v2/repository/models/none/unload', {})).status).toBe(404);
  const config = { parameters: { config: '{}' } };
  expect((await post({ url }, `/v2/repository/models/${MODEL}/load`, config)).status).toBe(400);
});

const user = { 'x-api-key': 'user' };
const admin = { 'x-api-key': 'admin' };

test.each([
  ['a user', new ApiKeys(unnamedKeys(['user']), digestOf('admin')), user, '127.0.0.1', 403],
  ['the operator', new ApiKeys(unnamedKeys(['user']), digestOf('admin')), admin, '127.0.0.1', 200],
  ['anybody without a key', new ApiKeys([], digestOf('admin')), {}, '127.0.0.1', 401],
  ['a user where there is no operator', new ApiKeys(unnamedKeys(['user'])), user, '127.0.0.1', 403],
  ['other machines without keys', new ApiKeys(), { 'x-forwarded-for': '10.0.0.1' }, '0.0.0.0', 403],
  ['this machine without keys', new ApiKeys(), {}, '127.0.0.1', 200],
])('%s may unload or not', async (_, keys, headers, host, status) => {
  const { url } = await server({ control: 'explicit', keys, config: { host } });
  const path = `/v2/repository/models/${MODEL}/unload`;
  expect((await post({ url }, path, {}, { headers })).status).toBe(status);
});
