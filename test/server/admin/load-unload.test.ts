import { describe, expect, test } from 'vitest';
import { ApiKeys, digestOf, unnamedKeys } from '../../../src/server/auth/api-keys.ts';
import { requireLocal } from '../../../src/server/auth/local-request.ts';
import { modelDefinition } from '../../front/registry/fake-loader.ts';
import { chunksOf, errorOf, post, textOf } from '../support/client.ts';
import { babbles, type TestServer, useServers } from '../support/test-server.ts';

const server = useServers();
const models = [
  modelDefinition('a'),
  modelDefinition('b'),
  modelDefinition('bad', { failure: 'it is broken' }),
];
const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });

async function statesOf({ url }: TestServer): Promise<unknown> {
  const { data } = (await (await fetch(`${url}/models`)).json()) as {
    data: { id: string; status: object }[];
  };
  return Object.fromEntries(data.map(({ id, status }) => [id, status]));
}

describe('/models/load and /models/unload', () => {
  test.each(['explicit', 'auto'] as const)('load and unload with %s', async (control) => {
    const target = await server({ control, models });
    const loaded = await post(target, '/models/load', { model: 'a' });
    expect(await loaded.json()).toEqual({ success: true });
    expect(await statesOf(target)).toEqual({
      a: { value: 'loaded' },
      b: { value: 'unloaded' },
      bad: { value: 'unloaded' },
    });
    const unloaded = await post(target, '/models/unload', { model: 'a' });
    expect(await unloaded.json()).toEqual({ success: true });
    expect(await statesOf(target)).toMatchObject({ a: { value: 'unloaded' } });
  });

  test.each(['none', 'poll'] as const)('are refused with %s', async (control) => {
    const target = await server({ control });
    for (const path of ['/models/load', '/models/unload']) {
      const error = await errorOf(await post(target, path, { model: 'org/fake-model' }), 400);
      expect(error).toMatchObject({ code: 'model_control' });
      expect(error.message).toContain(`--model-control ${control}`);
    }
  });

  test('a stream that runs ends before its model goes, and others are not disturbed', async () => {
    const target = await server({ control: 'explicit', models, script: babbles });
    await Promise.all(['a', 'b'].map((model) => post(target, '/models/load', { model })));
    const ask = (model: string) =>
      post(target, '/v1/completions', { model, prompt: 'Hi', max_tokens: 200, stream: true });
    const streams = await Promise.all(['a', 'b'].map(ask));
    const unloading = post(target, '/models/unload', { model: 'a' });
    const texts = await Promise.all(streams.map(async (stream) => textOf(await chunksOf(stream))));
    expect(texts).toEqual(['x'.repeat(200), 'x'.repeat(200)]);
    expect((await unloading).status).toBe(200);
    expect((await ask('a')).status).toBe(503);
    expect((await ask('b')).status).toBe(200);
  });

  test('two at once load a model once', async () => {
    const target = await server({ control: 'explicit', models });
    const loads = ['a', 'a', 'a@1'].map((model) => post(target, '/models/load', { model }));
    expect((await Promise.all(loads)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(target.context.models.loaded()).toHaveLength(1);
  });

  test('say what is wrong', async () => {
    const target = await server({ control: 'explicit', models });
    const load = (body: object) => post(target, '/models/load', body);
    expect((await errorOf(await load({ model: 'bad' }), 503)).message).toContain('it is broken');
    expect(await statesOf(target)).toMatchObject({ bad: { value: 'unloaded', failed: true } });
    expect((await errorOf(await load({ model: 'c' }), 404)).message).toContain('`a`');
    expect(await errorOf(await load({}), 400)).toMatchObject({ param: 'model' });
    expect(await errorOf(await load({ model: 5 }), 400)).toMatchObject({ param: 'model' });
  });
});

describe('only the operator may', () => {
  const unload = (target: TestServer, headers: object = {}) =>
    post(target, '/models/unload', { model: 'a' }, headers);
  const users = unnamedKeys(['user-key']);

  test('with an admin key it takes that', async () => {
    const keys = new ApiKeys(users, digestOf('admin-key'));
    const target = await server({ control: 'explicit', models, keys });
    await errorOf(await unload(target), 401);
    await errorOf(await unload(target, bearer('user-key')), 403);
    expect((await unload(target, bearer('admin-key'))).status).toBe(200);
  });

  test('with an admin key alone too', async () => {
    const keys = new ApiKeys([], digestOf('admin-key'));
    const target = await server({ control: 'explicit', models, keys });
    await errorOf(await unload(target), 401);
    expect((await unload(target, bearer('admin-key'))).status).toBe(200);
  });

  test("with users' keys alone nobody is", async () => {
    const target = await server({ control: 'explicit', models, keys: new ApiKeys(users) });
    const error = await errorOf(await unload(target, bearer('user-key')), 403);
    expect(error.message).toContain('--admin-api-key');
  });

  test.each([
    [{ origin: 'https://evil.example' }, ['*']],
    [{ origin: 'null' }, ['*']],
    [{ 'x-forwarded-for': '198.51.100.7' }, []],
    [{ forwarded: 'for=198.51.100.7' }, []],
  ])('without keys not %j, origins %j', async (headers, corsOrigins) => {
    const target = await server({ control: 'explicit', models, config: { corsOrigins } });
    await errorOf(await unload(target, { headers }), 403);
    expect((await unload(target)).status).toBe(200);
  });

  test("without keys a page of this server's, or one that the operator named", async () => {
    const corsOrigins = ['https://chat.example'];
    const target = await server({ control: 'explicit', models, config: { corsOrigins } });
    for (const origin of ['https://chat.example', target.url]) {
      expect((await unload(target, { headers: { origin } })).status).toBe(200);
    }
  });

  const check = (remoteAddress: string) => () =>
    requireLocal(
      { headers: {}, socket: { remoteAddress } },
      { host: '127.0.0.1', corsOrigins: ['*'] },
    );

  test.each(['127.0.0.1', '::1', '::ffff:127.0.0.1'])('without keys from %s', (address) => {
    expect(check(address)).not.toThrow();
  });

  test.each(['192.168.1.7', '::ffff:172.17.0.1', '2001:db8::1', ''])(
    'without keys not from %j',
    (address) => {
      expect(check(address)).toThrow('--admin-api-key');
    },
  );
});
