/** /v1/models, by Anthropic's own client. */
import { Anthropic, BadRequestError, NotFoundError } from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { modelDefinition } from '../../front/registry/fake-loader.ts';
import { useServers, type TestServer } from '../support/test-server.ts';

const server = useServers();
const names = ['a', 'b', 'c'];
const models = names.map((name) => modelDefinition(name));

function clientOf({ url }: TestServer): Anthropic {
  return new Anthropic({ baseURL: url, apiKey: 'key', maxRetries: 0 });
}

test('lists models, page by page', async () => {
  const client = clientOf(await server({ control: 'auto', models }));
  const ids: string[] = [];
  for await (const model of client.models.list({ limit: 2 })) ids.push(model.id);
  expect(ids).toEqual(names);
  const page = await client.models.list({ before_id: 'c', limit: 1 });
  expect(page).toMatchObject({ data: [{ id: 'b' }], has_more: true, first_id: 'b', last_id: 'b' });
});

test('describes one, and says what there is not', async () => {
  const client = clientOf(await server({ control: 'auto', models }));
  expect(await client.models.retrieve('a')).toMatchObject({
    type: 'model',
    id: 'a',
    display_name: 'a',
    created_at: new Date(1_700_000_000_000).toISOString(),
  });
  await expect(client.models.retrieve('x')).rejects.toThrow(NotFoundError);
  await expect(client.models.list({ after_id: 'x' })).rejects.toThrow(BadRequestError);
});

test('clients of OpenAI get what they did before', async () => {
  const { url } = await server();
  expect(await (await fetch(`${url}/v1/models`)).json()).toMatchObject({ object: 'list' });
});
