/** Routes of LoRA adapters, over an engine that says what it was given. */
import { describe, expect, test } from 'vitest';
import { AdapterShelf } from '../../../src/front/adapters/adapter-shelf.ts';
import { ServedAdapters } from '../../../src/front/adapters/served-adapters.ts';
import { InvalidRequestError } from '../../../src/front/invalid-request.ts';
import { MODEL_LIMITS } from '../../../src/model-limits.ts';
import { ApiKeys, digestOf } from '../../../src/server/auth/api-keys.ts';
import { chunksOf, errorOf, post } from '../support/client.ts';
import { modelDefinition } from '../../front/registry/fake-loader.ts';
import {
  babbles,
  MODEL,
  type TestServer,
  type TestServerOptions,
  tokensOf,
  useServers,
} from '../support/test-server.ts';

const start = useServers();

/** Adapters of a model; any path but `bad` has one. */
function takenBy(shelf: AdapterShelf, base: string): ServedAdapters {
  return new ServedAdapters({
    shelf,
    base,
    async prepare({ path }) {
      if (path === 'bad') throw new InvalidRequestError('bad is no adapter', 'lora_path');
      return { id: path, path: `/adapters/${path}` };
    },
  });
}

/** With the adapters `one` and `two`. */
async function serverWith(options: TestServerOptions = {}): Promise<TestServer> {
  const shelf = new AdapterShelf();
  const target = await start({ ...options, adapters: shelf });
  const adapters = takenBy(shelf, MODEL);
  await adapters.load('one', 'first');
  await adapters.load('two', 'second');
  return { ...target, runtime: Object.assign(target.runtime, { adapters }) };
}

const tells = (): TestServerOptions => ({
  script: (_prompt, { adapter }) =>
    tokensOf(adapter ? `${adapter.id} x ${adapter.scale}` : 'none at all'),
});
const ask = { prompt: 'Hi', max_tokens: 40 };

describe('a request', () => {
  test.each([
    [{ model: MODEL }, 'none at all'],
    [{ model: 'two' }, 'second x 1'],
    [{ model: MODEL, lora: [{ id: 0, scale: 0.5 }] }, 'first x 0.5'],
    [
      {
        model: MODEL,
        lora: [
          { id: 0, scale: 0 },
          { id: 1, scale: -2 },
        ],
      },
      'second x -2',
    ],
    [{ lora: [{ id: 1, scale: 1 }] }, 'second x 1'],
    // An adapter asked for by its place and by its name is the place's.
    [{ model: 'two', lora: [{ id: 0, scale: 3 }] }, 'first x 3'],
    [{ model: 'two', lora: [{ id: 1, scale: 0 }] }, 'none at all'],
    [{ model: 'two', lora: [] }, 'none at all'],
    [{ model: 'two', lora: null }, 'second x 1'],
  ])('%j is computed with that adapter', async (body, text) => {
    const target = await serverWith(tells());
    const answer = await post(target, '/v1/completions', { ...ask, ...body });
    expect(await answer.json()).toMatchObject({ choices: [{ text }] });
  });

  test.each([
    [[{ id: 2, scale: 1 }], 'no adapter 2'],
    [[{ id: -1, scale: 1 }], 'lora'],
    [[{ id: 0.5, scale: 1 }], 'lora'],
    [[{ id: 0 }], 'required'],
    [[{ id: 0, scale: 1e9 }], 'lora'],
    [[{ id: 0, scale: '1' }], 'lora'],
    ['one', 'lora'],
    [{ id: 0, scale: 1 }, 'lora'],
    [
      [
        { id: 0, scale: 1 },
        { id: 1, scale: 1 },
      ],
      'one adapter',
    ],
    [Array.from({ length: MODEL_LIMITS.adapters + 1 }, (_, id) => ({ id, scale: 0 })), 'lora'],
  ])('with such a `lora` is refused (%#)', async (lora, message) => {
    const target = await serverWith(tells());
    for (const [path, body] of [
      ['/v1/completions', ask],
      ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }],
    ] as const) {
      const error = await errorOf(await post(target, path, { ...body, lora }), 400);
      expect(error.message).toContain(message);
      expect(error.param).toMatch(/^lora/);
    }
    expect(target.engine.requests).toEqual([]);
  });

  test('over KServe names an adapter as its model', async () => {
    const target = await serverWith(tells());
    const body = { text_input: 'Hi', parameters: { max_tokens: 40 } };
    const answer = await post(target, '/v2/models/two/generate', body);
    expect(await answer.json()).toMatchObject({ model_name: 'two', text_output: 'Hisecond x 1' });
    const inputs = [{ name: 'text_input', datatype: 'BYTES', shape: [1], data: ['Hi'] }];
    const inferred = await post(target, '/v2/models/one/infer', { inputs });
    expect(await inferred.json()).toMatchObject({
      model_name: 'one',
      outputs: [{ data: [expect.stringContaining('first x 1')] }],
    });
    expect((await post(target, '/v2/models/three/generate', body)).status).toBe(404);
  });
});

describe('loading and unloading', () => {
  const load = { lora_name: 'three', lora_path: 'third' };

  test('a stream goes on with an adapter that was unloaded', async () => {
    const target = await serverWith({ script: babbles });
    const response = await post(target, '/v1/completions', {
      ...ask,
      model: 'one',
      max_tokens: 100,
      stream: true,
    });
    const unloaded = await post(target, '/v1/unload_lora_adapter', { lora_name: 'one' });
    expect(unloaded.status).toBe(200);
    const chunks = await chunksOf(response);
    expect(JSON.stringify(chunks)).toContain('"finish_reason":"length"');
    await errorOf(await post(target, '/v1/completions', { ...ask, model: 'one' }), 404);
    // Places in the list are those of what is there now.
    const list: unknown = await (await fetch(`${target.url}/lora-adapters`)).json();
    expect(list).toEqual([{ id: 0, path: 'two', scale: 1 }]);
  });

  test('need the admin key, or a server without keys', async () => {
    const users = [{ client: 'user', digest: digestOf('user-key') }];
    const keys = new ApiKeys(users, digestOf('admin-key'));
    const target = await serverWith({ keys });
    const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
    for (const path of ['/v1/load_lora_adapter', '/v1/unload_lora_adapter']) {
      await errorOf(await post(target, path, load), 401);
      await errorOf(await post(target, path, load, bearer('user-key')), 403);
    }
    expect((await post(target, '/v1/load_lora_adapter', load, bearer('admin-key'))).status).toBe(
      200,
    );
  });

  test.each([
    [{ ...load, lora_name: 'one' }, 'already'],
    [{ ...load, lora_name: MODEL }, 'already'],
    [{ ...load, lora_name: '../three' }, 'expected letters'],
    [{ ...load, lora_name: 'x'.repeat(10_000) }, 'lora_name'],
    [{ ...load, lora_path: 'x'.repeat(10_000) }, 'lora_path'],
    [{ ...load, lora_path: '' }, 'lora_path'],
    [{ ...load, lora_path: ['a'] }, 'lora_path'],
    [{ ...load, lora_path: 'bad' }, 'bad is no adapter'],
    [{ ...load, lora_name: 'alias' }, 'already'],
    [{ ...load, base_model_name: '' }, 'base_model_name'],
    [{ ...load, base_model_name: ['a'] }, 'base_model_name'],
    [{ ...load, base_model_name: 'x'.repeat(10_000) }, 'base_model_name'],
    [{ lora_name: 'three' }, 'lora_path'],
    [[], 'JSON object'],
  ])('such a body is refused (%#)', async (body, message) => {
    const target = await serverWith({ aliases: new Map([['alias', new Map([[MODEL, 1]])]]) });
    const error = await errorOf(await post(target, '/v1/load_lora_adapter', body), 400);
    expect(error.message).toContain(message);
    expect(target.runtime.adapters?.list()).toHaveLength(2);
  });

  test('are bounded in number', async () => {
    const target = await serverWith();
    for (let count = 2; count < MODEL_LIMITS.adapters; count++) {
      await target.runtime.adapters?.load(`a${count}`, `a${count}`);
    }
    const error = await errorOf(await post(target, '/v1/load_lora_adapter', load), 400);
    expect(error.message).toContain(`there are ${MODEL_LIMITS.adapters} LoRA adapters already`);
  });

  test('are refused where the model takes no adapters', async () => {
    const target = await start();
    const error = await errorOf(await post(target, '/v1/load_lora_adapter', load), 400);
    expect(error.message).toContain('without --lora-dir');
  });
});

describe('of several models', () => {
  const names = ['first', 'second', 'plain'];

  /** Two take adapters, one does not; each of the two begins with one of its own. */
  async function severalWith(options: TestServerOptions = {}): Promise<TestServer> {
    const shelf = new AdapterShelf();
    const target = await start({
      ...tells(),
      adapters: shelf,
      models: names.map((name) => modelDefinition(name, {}, { preload: true })),
      ...options,
      onLoad: async (name, runtime) => {
        if (name === 'plain') return runtime;
        const adapters = takenBy(shelf, name);
        await adapters.restore(() => {});
        return { ...runtime, adapters };
      },
    });
    for (const base of ['first', 'second']) {
      shelf.add({ name: `of-${base}`, path: `/${base}`, base, isOfFlags: true });
    }
    return target;
  }
  const add = (target: TestServer, body: object) =>
    post(target, '/v1/load_lora_adapter', { lora_name: 'new', lora_path: 'new', ...body });
  const textOf = async (target: TestServer, model: string) => {
    const answer = await post(target, '/v1/completions', { ...ask, model });
    return ((await answer.json()) as { choices: { text: string }[] }).choices[0]?.text;
  };

  test('one is loaded for the model that the request names', async () => {
    const target = await severalWith();
    const error = await errorOf(await add(target, {}), 400);
    expect(error).toMatchObject({ param: 'base_model_name' });
    expect(error.message).toContain('Several models take LoRA adapters');
    expect((await add(target, { base_model_name: 'second' })).status).toBe(200);
    expect(await textOf(target, 'new')).toBe('new x 1');
    const { data } = (await (await fetch(`${target.url}/v1/models`)).json()) as {
      data: { id: string; parent: string | null }[];
    };
    expect(data.find(({ id }) => id === 'new')).toMatchObject({ parent: 'second', root: 'new' });
    // A name is one adapter, of whichever model.
    await errorOf(await add(target, { base_model_name: 'first' }), 400);
    expect((await post(target, '/v1/unload_lora_adapter', { lora_name: 'new' })).status).toBe(200);
    expect((await add(target, { base_model_name: 'first' })).status).toBe(200);
  });

  test.each([
    ['plain', 400, 'takes no LoRA adapters'],
    ['nobody', 404, 'nobody'],
    ['of-first', 404, 'of-first'],
  ])('none is loaded for %s', async (base, status, message) => {
    const error = await errorOf(await add(await severalWith(), { base_model_name: base }), status);
    expect(error.message).toContain(message);
  });

  test('one brings its model into memory, and outlives its time there', async () => {
    const models = names.map((name) => modelDefinition(name));
    const target = await severalWith({ control: 'auto', models });
    const listed = async () => {
      const { data } = (await (await fetch(`${target.url}/v1/models`)).json()) as {
        data: { id: string; parent: string | null; status: { value: string } }[];
      };
      return data.flatMap(({ id, parent, status }) =>
        parent === null ? [] : [`${id} of ${parent}, ${status.value}`],
      );
    };
    expect(await listed()).toEqual([
      'of-first of first, unloaded',
      'of-second of second, unloaded',
    ]);
    expect(await textOf(target, 'of-second')).toBe('/second x 1');
    expect((await add(target, { base_model_name: 'first' })).status).toBe(200);
    for (const name of ['first', 'second']) {
      const unloaded = await post(target, `/v2/repository/models/${name}/unload`, {});
      expect(unloaded.status).toBe(200);
    }
    expect(await listed()).toContain('new of first, unloaded');
    expect(await textOf(target, 'new')).toBe('new x 1');
    const kserve = { text_input: 'Hi', parameters: { max_tokens: 40 } };
    const generated = await post(target, '/v2/models/of-second/generate', kserve);
    expect(await generated.json()).toMatchObject({ text_output: 'Hi/second x 1' });
    // It is forgotten while its model is out of memory, too.
    await post(target, '/v2/repository/models/first/unload', {});
    const forget = () => post(target, '/v1/unload_lora_adapter', { lora_name: 'new' });
    expect((await forget()).status).toBe(200);
    expect((await forget()).status).toBe(404);
    await errorOf(await post(target, '/v1/completions', { ...ask, model: 'new' }), 404);
  });
});
