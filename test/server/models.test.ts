import { expect, test } from 'vitest';
import { answerOf, errorOf, post } from './support/client.ts';
import { MAX_MODEL_LEN, MODEL, useServers } from './support/test-server.ts';

const server = useServers();

const description = {
  id: MODEL,
  object: 'model',
  created: 1_700_000_000,
  owned_by: 'chairlift',
  root: MODEL,
  parent: null,
  max_model_len: MAX_MODEL_LEN,
  capabilities: ['completions', 'chat'],
  version: '1',
  status: { value: 'ready' },
};

test('/v1/models lists the served model', async () => {
  const { url } = await server();
  const response = await fetch(`${url}/v1/models`);
  expect(await response.json()).toEqual({ object: 'list', data: [description] });
});

test.each([MODEL, encodeURIComponent(MODEL)])('/v1/models/%s', async (id) => {
  const { url } = await server();
  expect(await (await fetch(`${url}/v1/models/${id}`)).json()).toEqual(description);
});

test('/v1/models of an unknown name is 404', async () => {
  const { url } = await server();
  const error = await errorOf(await fetch(`${url}/v1/models/other`), 404);
  expect(error).toMatchObject({ param: 'model', code: 'model_not_found' });
});

test.each([{}, { model: MODEL }, { model: null }])('%j names the model', async (fields) => {
  const answer = await answerOf(
    await post(await server(), '/v1/completions', { prompt: 'Hi', ...fields }),
  );
  expect(answer.model).toBe(MODEL);
});
