import { createParser } from 'eventsource-parser';
import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/limits.ts';
import { until } from '../../support/processes.ts';
import { modelDefinition } from '../../front/registry/fake-loader.ts';
import { errorOf, post } from '../support/client.ts';
import { type TestServer, useServers } from '../support/test-server.ts';

const server = useServers();
const models = [modelDefinition('a'), modelDefinition('bad', { failure: 'it is broken' })];

async function listen({ url }: TestServer) {
  const left = new AbortController();
  const response = await fetch(`${url}/models/sse`, { signal: left.signal });
  const events: unknown[] = [];
  const parser = createParser({ onEvent: ({ data }) => events.push(JSON.parse(data)) });
  const decoder = new TextDecoder();
  const reading = (async () => {
    for await (const bytes of response.body ?? []) parser.feed(decoder.decode(bytes));
  })();
  reading.catch(() => {});
  const next = async (count: number) => {
    await until(() => events.length >= count, `${count} events`);
    return events;
  };
  return { next, reading, leave: () => left.abort() };
}

const status = (model: string, data: object) => ({ model, event: 'model_status', data });

test('/models/sse tells the state of each model, and what changes', async () => {
  const target = await server({ control: 'explicit', models });
  const feed = await listen(target);
  expect(await feed.next(2)).toEqual([
    status('a', { status: 'unloaded' }),
    status('bad', { status: 'unloaded' }),
  ]);
  await post(target, '/models/load', { model: 'a' });
  expect((await feed.next(3)).at(-1)).toEqual(status('a', { status: 'loaded' }));
  await post(target, '/models/unload', { model: 'a' });
  expect((await feed.next(4)).at(-1)).toEqual(status('a', { status: 'unloaded' }));
  await post(target, '/models/load', { model: 'bad' });
  const failure = { status: 'unloaded', failed: true, reason: 'it is broken' };
  expect((await feed.next(5)).at(-1)).toEqual(status('bad', failure));
  feed.leave();
});

test('listeners are bounded, and make room when they leave', async () => {
  const target = await server({ control: 'explicit', models });
  const feeds = await Promise.all(
    Array.from({ length: LIMITS.clientModelListeners }, () => listen(target)),
  );
  const refused = () => fetch(`${target.url}/models/sse`);
  expect(await errorOf(await refused(), 429)).toMatchObject({ code: 'too_many_listeners' });
  for (const { leave } of feeds) leave();
  await until(async () => {
    const feed = await fetch(`${target.url}/models/sse`);
    await feed.body?.cancel();
    return feed.ok;
  }, 'room for a listener');
});

test('a feed ends when the server shuts down', async () => {
  const target = await server({ control: 'explicit', models });
  const feed = await listen(target);
  await feed.next(2);
  target.startDraining();
  await expect(feed.reading).resolves.toBeUndefined();
});
