/** Answers that are kept, with a real model: by two servers that share a Redis, and one without a cache. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { tableGraph } from '../server/support/stateless-models.ts';
import { needs, REDIS } from '../support/needs.ts';
import { RedisServer } from '../support/redis-server.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const CHAT = '/v1/chat/completions';
const messages = [{ role: 'user', content: 'Tell me about the sea.' }];
const greedy = { temperature: 0, max_tokens: 40 };
const seeded = { temperature: 0.9, seed: 11, max_tokens: 40 };

const REQUESTS: readonly (readonly [path: string, body: object])[] = [
  [CHAT, { messages, ...greedy }],
  [CHAT, { messages, ...seeded, n: 2, logprobs: true, top_logprobs: 2 }],
  ['/v1/completions', { prompt: 'The sea', ...greedy, logprobs: 1 }],
  ['/v1/responses', { input: 'Tell me about the sea.', temperature: 0, max_output_tokens: 41 }],
  ['/v1/messages', { messages, ...greedy, max_tokens: 42 }],
];

/** Without ids, times, and what the prefix cache had: that is not of the answer. */
function lasting(text: string): string {
  return text
    .replaceAll(/"(id|item_id|response_id)":"[^"]*"/g, '"$1":""')
    .replaceAll(/"(created|created_at|completed_at)":\d+/g, '"$1":0')
    .replaceAll(/"(cached_tokens|cache_read_input_tokens|input_tokens)":\d+/g, '"$1":0');
}

async function ask({ url }: ServerProcess, path: string, body: object) {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = lasting(await response.text());
  expect({ status: response.status, text }).toMatchObject({ status: 200 });
  return { status: response.headers.get('x-chairlift-cache'), text };
}

describe('two servers with a cache and a Redis, and one without', needs(REDIS), () => {
  let redis: RedisServer;
  let servers: ServerProcess[] = [];
  /** Answers are kept there a moment after they were told. */
  let stored: Redis;

  beforeAll(async () => {
    redis = await RedisServer.start();
    stored = new Redis(redis.url);
    // A draft that is verified rounds log-probabilities otherwise than single steps, and whether one
    // is tried depends on how long steps take.
    const plain = ['--speculative', 'off'];
    const caching = [...plain, '--response-cache', '16m', '--redis', redis.url];
    servers = await Promise.all([startServer(caching), startServer(caching), startServer(plain)]);
  });

  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    stored.disconnect();
    await redis.kill();
  });

  test.each(REQUESTS)('%s says the same in all of them: %j', async (path, body) => {
    const [one, two, plain] = servers as [ServerProcess, ServerProcess, ServerProcess];
    const before = await stored.dbsize();
    const computed = await ask(one, path, body);
    await expect.poll(() => stored.dbsize()).toBe(before + 1);
    const kept = await ask(one, path, body);
    const shared = await ask(two, path, body);
    const without = await ask(plain, path, body);
    const statuses = [computed, kept, shared, without].map(({ status }) => status);
    expect(statuses).toEqual(['miss', 'hit', 'hit', null]);
    for (const { text } of [kept, shared, without]) expect(text).toBe(computed.text);
  });

  test('a stream, and a WebSocket, say what was told whole', async () => {
    const [one, two] = servers as [ServerProcess, ServerProcess];
    const body = { messages: [{ role: 'user', content: 'And the sky?' }], ...greedy };
    const before = await stored.dbsize();
    const whole = await ask(one, CHAT, body);
    await expect.poll(() => stored.dbsize()).toBe(before + 1);
    const content: unknown = JSON.parse(whole.text).choices[0].message.content;
    const stream = await ask(two, CHAT, { ...body, stream: true });
    expect(stream.status).toBe('hit');
    const pieces = Array.from(
      stream.text.matchAll(/"content":("(?:[^"\\]|\\.)*")/g),
      ([, json]): unknown => JSON.parse(json ?? '""'),
    );
    expect(pieces.join('')).toBe(content);
    const socket = new WebSocket(`${one.url.replace('http', 'ws')}${CHAT}`);
    const frame = await new Promise<string>((resolve) => {
      socket.on('open', () => socket.send(JSON.stringify({ request_id: 'a', ...body })));
      socket.once('message', (data: Buffer) => resolve(data.toString()));
    });
    socket.close();
    expect(JSON.parse(frame).choices[0].message.content).toBe(content);
  });
});

test('a model without state answers equal tensors once', async () => {
  const folder = await temporaryDirectory();
  await mkdir(join(folder, 'table'));
  await writeFile(join(folder, 'table/model.onnx'), tableGraph());
  const server = await startServer(['--model-repository', folder, '--response-cache', '1m']);
  onTestFinished(async () => {
    await server.stop();
  });
  const look = (...data: number[]) => {
    const inputs = [{ name: 'index', datatype: 'INT64', shape: [data.length], data }];
    return ask(server, '/v2/models/table/infer', { inputs });
  };
  const first = await look(1, 2);
  expect(first.status).toBe('miss');
  expect(await look(1, 2)).toEqual({ ...first, status: 'hit' });
  expect(await look(2, 1)).toMatchObject({ status: 'miss' });
});
