/** A repository of models in a real server: copies of the two embedded ones. */
import { cp, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { post, stream } from '../support/http-client.ts';
import { childrenOf, killNow, until } from '../support/processes.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const POLL = ['--repository-poll-secs', '0.3'];
const TOPICS = ['a fox', 'a lamp', 'rain', 'two friends', 'a boat', 'bread', 'a hill', 'snow'];

let folder: string;
const servers: ServerProcess[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'repository-'));
});
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  await rm(folder, { recursive: true, force: true });
});

/** A whole model appears at once, as one that is moved there does. */
async function put(path: string, model: 'summit' | 'foothill'): Promise<void> {
  const target = join(folder, path);
  const staging = join(folder, '.staging');
  await cp(join('models', model), staging, { recursive: true });
  await mkdir(join(target, '..'), { recursive: true });
  await rename(staging, target);
}

async function serve(...args: readonly string[]): Promise<ServerProcess> {
  const server = await startServer(['--model-repository', folder, ...args], cache.env);
  servers.push(server);
  return server;
}

async function statesOf({ url }: ServerProcess): Promise<Readonly<Record<string, string>>> {
  const { data } = (await (await fetch(`${url}/v1/models`)).json()) as {
    data: { id: string; version: string; status: { value: string; reason?: string } }[];
  };
  return Object.fromEntries(data.map(({ id, status }) => [id, status.reason ?? status.value]));
}

function ask({ url }: ServerProcess, model: string, topic = 'a fox', maxTokens = 20) {
  return stream(`${url}/v1/chat/completions`, {
    model,
    messages: [{ role: 'user', content: `Tell me a story about ${topic}.` }],
    temperature: 0,
    max_tokens: maxTokens,
    ignore_eos: true,
  });
}

const askAll = (server: ServerProcess, model: string, maxTokens: number) =>
  Promise.all(
    Array.from({ length: 16 }, (_, at) =>
      ask(server, model, TOPICS[at % TOPICS.length], maxTokens),
    ),
  );

const textsOf = (answers: readonly { readonly text: string }[]) => answers.map(({ text }) => text);

test('models are loaded for the first request, and the longest idle one makes way', async () => {
  for (const name of ['a', 'b', 'c']) await put(name, 'foothill');
  await put('broken', 'foothill');
  await writeFile(join(folder, 'broken', 'config.json'), '{');
  const server = await serve('--models-max', '2');
  expect(await statesOf(server)).toEqual({
    a: 'unloaded',
    b: 'unloaded',
    broken: 'unloaded',
    c: 'unloaded',
  });
  const [first, second] = await Promise.all([ask(server, 'a'), ask(server, 'a')]);
  expect(second.text).toBe(first.text);
  await ask(server, 'b');
  expect((await ask(server, 'c')).text).toBe(first.text);
  const refused = await post(`${server.url}/v1/completions`, { model: 'broken', prompt: 'Hi' });
  expect(refused.status).toBe(503);
  const states = await statesOf(server);
  expect(states).toMatchObject({ a: 'unloaded', b: 'ready', c: 'ready' });
  expect(states['broken']).toMatch(/config\.json/);
  expect(childrenOf(server.child.pid)).toHaveLength(2);
  const unknown = await post(`${server.url}/v1/completions`, { model: 'd', prompt: 'Hi' });
  expect(unknown.status).toBe(404);
});

test('a new version takes over, and disturbs no stream of the old one', async () => {
  await put('story/1', 'summit');
  const server = await serve(...POLL);
  const alone = await askAll(server, 'story', 150);
  const running = askAll(server, 'story', 150);
  await put('story/2', 'foothill');
  expect(textsOf(await running)).toEqual(textsOf(alone));
  await until(async () => (await statesOf(server))['story'] === 'ready', 'the new version');
  const renewed = await ask(server, 'story');
  await put('foothill', 'foothill');
  await until(async () => 'foothill' in (await statesOf(server)), 'a look at the repository');
  expect(renewed.text).toBe((await ask(server, 'foothill')).text);
  expect(renewed.text).not.toBe((await ask(server, 'story@2', 'rain')).text);
});

test('a model whose folder is deleted serves its streams to their end, and no more', async () => {
  await put('gone', 'foothill');
  await put('stays', 'foothill');
  const server = await serve(...POLL);
  const alone = await ask(server, 'gone', 'a fox', 400);
  const running = ask(server, 'gone', 'a fox', 400);
  await rm(join(folder, 'gone'), { recursive: true });
  expect((await running).text).toBe(alone.text);
  await until(async () => !('gone' in (await statesOf(server))), 'the end of the model');
  const refused = await post(`${server.url}/v1/completions`, { model: 'gone', prompt: 'Hi' });
  expect(refused.status).toBe(404);
  expect((await ask(server, 'stays')).text).not.toBe('');
});

describe('several instances', () => {
  test('one is killed under 16 streams, and all texts stay the same', async () => {
    await put('story', 'summit');
    await writeFile(join(folder, 'story', 'chairlift.json'), JSON.stringify({ instances: 2 }));
    const server = await serve();
    const alone = await askAll(server, 'story', 150);
    const engines = childrenOf(server.child.pid);
    expect(engines).toHaveLength(2);
    const running = askAll(server, 'story', 150);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(killNow(engines[0] ?? 0)).toBe(true);
    expect(textsOf(await running)).toEqual(textsOf(alone));
  });
});
