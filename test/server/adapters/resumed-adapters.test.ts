/** Answers with a LoRA adapter that go on where adapters stand in another order, or are others. */
import { expect, test } from 'vitest';
import { AdapterShelf } from '../../../src/front/adapters/adapter-shelf.ts';
import { ServedAdapters } from '../../../src/front/adapters/served-adapters.ts';
import { errorOf, post } from '../support/client.ts';
import { MODEL, type TestServer, tokensOf, useServers } from '../support/test-server.ts';

const start = useServers();
const PATH = '/v1/completions';

/** @param contents by names, in their order */
async function serverWith(contents: Readonly<Record<string, string>>): Promise<TestServer> {
  const shelf = new AdapterShelf();
  const target = await start({
    adapters: shelf,
    resumeKey: 'a secret of all replicas',
    script: (_prompt, { adapter }) =>
      tokensOf(adapter ? `${adapter.id} x ${adapter.scale}` : 'none at all'),
  });
  const adapters = new ServedAdapters({
    shelf,
    base: MODEL,
    prepare: async ({ path }) => ({ id: path, path: `/adapters/${path}` }),
  });
  for (const [name, content] of Object.entries(contents)) await adapters.load(name, content);
  return { ...target, runtime: Object.assign(target.runtime, { adapters }) };
}

const ONE = { one: 'first', two: 'second' };
const OTHER_ORDER = { two: 'second', three: 'third', one: 'first' };

/** A request as its client sends it again, to go on after its beginning. */
async function begun(target: TestServer, body: object) {
  const request = { prompt: 'Hi', max_tokens: 40, ...body };
  const response = await post(target, PATH, { ...request, stream: true });
  expect(await response.text()).toContain('[DONE]');
  return { ...request, resume: { token: response.headers.get('x-resume-token'), counts: [0] } };
}

test.each([
  [{ lora: [{ id: 0, scale: 0.5 }] }, 'first x 0.5', 'one'],
  [{ lora: [{ id: 1, scale: -2 }] }, 'second x -2', 'two'],
  [{ model: 'two' }, 'second x 1', 'two'],
  [{ model: 'two', lora: [{ id: 0, scale: 3 }] }, 'first x 3', 'one'],
  [{ model: MODEL, lora: [{ id: 0, scale: 0 }] }, 'none at all', MODEL],
  [{ model: 'two', lora: [] }, 'none at all', MODEL],
])('%j goes on with the adapter that it began with', async (body, text, model) => {
  const request = await begun(await serverWith(ONE), body);
  const answer = await post(await serverWith(OTHER_ORDER), PATH, request);
  expect(await answer.json()).toMatchObject({ model, choices: [{ text }] });
});

test.each([
  [{ two: 'second' }, 'the LoRA adapter one, which is not here'],
  [{ one: 'changed', two: 'second' }, 'the LoRA adapter one, which has other weights here'],
])('is refused where adapters are %j', async (adapters, message) => {
  const target = await serverWith(adapters);
  for (const body of [{ model: 'one' }, { lora: [{ id: 0, scale: 1 }] }]) {
    const request = await begun(await serverWith(ONE), body);
    const error = await errorOf(await post(target, PATH, request), 409);
    expect(error.message).toContain(message);
  }
  expect(target.engine.requests).toEqual([]);
});

test('what a client says of adapters when it goes on changes nothing', async () => {
  const request = await begun(await serverWith(ONE), { lora: [{ id: 0, scale: 0.5 }] });
  const answer = await post(await serverWith(ONE), PATH, {
    ...request,
    lora: [{ id: 1, scale: 1 }],
  });
  expect(await answer.json()).toMatchObject({ choices: [{ text: 'first x 0.5' }] });
});
