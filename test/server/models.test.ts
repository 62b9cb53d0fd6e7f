import { expect, test, vi } from 'vitest';
import { ModelRegistry } from '../../src/front/registry/model-registry.ts';
import { modelDefinition } from '../front/registry/fake-loader.ts';
import { answerOf, errorOf, post } from './support/client.ts';
import { MAX_MODEL_LEN, MODEL, useServers } from './support/test-server.ts';

const server = useServers();

/** As of a `generation_config.json`. */
const samplingDefaults = { temperature: 0.6, topK: 20 };

const description = {
  id: MODEL,
  object: 'model',
  created: 1_700_000_000,
  owned_by: 'chairlift',
  root: MODEL,
  parent: null,
  max_model_len: MAX_MODEL_LEN,
  capabilities: ['completions', 'chat'],
  default_sampling_params: {
    temperature: 0.6,
    top_p: 1,
    top_k: 20,
    min_p: 0,
    repetition_penalty: 1,
  },
  version: '1',
  status: { value: 'ready' },
};

test('/v1/models lists the served model', async () => {
  const { url } = await server({ samplingDefaults });
  const response = await fetch(`${url}/v1/models`);
  expect(await response.json()).toEqual({ object: 'list', data: [description] });
});

test.each([MODEL, encodeURIComponent(MODEL)])('/v1/models/%s', async (id) => {
  const { url } = await server({ samplingDefaults });
  expect(await (await fetch(`${url}/v1/models/${id}`)).json()).toEqual(description);
});

test('/v1/models of an unknown name is 404', async () => {
  const { url } = await server();
  const error = await errorOf(await fetch(`${url}/v1/models/other`), 404);
  expect(error).toMatchObject({ param: 'model', code: 'model_not_found' });
});

test('aliases are listed as the model that they mostly stand for; answers have its name', async () => {
  const { url } = await server({
    samplingDefaults,
    aliases: new Map([
      ['gpt-4o-mini', new Map([[MODEL, 1]])],
      [
        'canary',
        new Map([
          [`${MODEL}@1`, 90],
          ['other', 10],
        ]),
      ],
      ['nothing', new Map([['gone', 1]])],
      [MODEL, new Map([[MODEL, 1]])],
    ]),
  });
  const { data } = (await (await fetch(`${url}/v1/models`)).json()) as { data: object[] };
  const aliases = [
    { ...description, id: 'canary' },
    { ...description, id: 'gpt-4o-mini' },
  ];
  expect(data).toEqual([description, ...aliases]);
  expect(await (await fetch(`${url}/v1/models/gpt-4o-mini`)).json()).toEqual(aliases[1]);
  const fields = { prompt: 'Hi', model: 'gpt-4o-mini' };
  const answer = await answerOf(await post({ url }, '/v1/completions', fields));
  expect(answer.model).toBe(MODEL);
});

test.each([{}, { model: MODEL }, { model: null }])('%j names the model', async (fields) => {
  const answer = await answerOf(
    await post(await server(), '/v1/completions', { prompt: 'Hi', ...fields }),
  );
  expect(answer.model).toBe(MODEL);
});

test('models that are not loaded are described by their files, and stay so', async () => {
  const models = [modelDefinition('a'), modelDefinition('b', {}, { version: '2' })];
  const { url, runtime } = await server({
    control: 'auto',
    models: [...models, modelDefinition('b')],
    describeModel: async ({ name }) =>
      name === 'a'
        ? {
            family: 'bert',
            format: 'safetensors',
            quantization: null,
            samplingDefaults: {},
            maxModelLen: 99,
            capabilities: ['embeddings'],
            bytes: 1234,
          }
        : null,
  });
  const { data } = (await (await fetch(`${url}/v1/models`)).json()) as { data: object[] };
  expect(data).toMatchObject([
    { id: 'a', max_model_len: 99, capabilities: ['embeddings'], status: { value: 'unloaded' } },
    { id: 'b@2', max_model_len: null, capabilities: null },
    { id: 'b@1' },
  ]);
  expect(await (await fetch(`${url}/v1/models/a`)).json()).toEqual(data[0]);
  const tags = (await (await fetch(`${url}/api/tags`)).json()) as { models: object[] };
  expect(tags.models[0]).toMatchObject({ name: 'a:latest', size: 1234 });
  const shown = await (await post({ url }, '/api/show', { model: 'a' })).json();
  expect(shown).toMatchObject({
    capabilities: ['embedding'],
    model_info: { 'bert.context_length': 99 },
  });
  expect(runtime.engine.state).toBe('ready');
});

test('the list of models sorts all of them as often for many as for few', async () => {
  const several = (count: number) =>
    Array.from({ length: count }, (_, at) => modelDefinition(`model-${at}`));
  const listsOf = async (count: number) => {
    const { url } = await server({ control: 'auto', models: several(count) });
    const list = vi.spyOn(ModelRegistry.prototype, 'list');
    await (await fetch(`${url}/models`)).text();
    const { length } = list.mock.calls;
    list.mockRestore();
    return length;
  };
  // It did so for each model: eight times as many took up to 64 times as long.
  const lists = await listsOf(100);
  expect(lists).toBeGreaterThan(0);
  expect(lists).toBe(await listsOf(3));
});
