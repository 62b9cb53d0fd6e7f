/** Attempts of one API key to learn of another's, and to do to it: in vain. */
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { errorOf, post, type Target } from './support/client.ts';
import { babbles, says, useServers } from './support/test-server.ts';

const server = useServers();
const config = { apiKeys: ['key-of-a', 'key-of-b'] };
const a = { authorization: 'Bearer key-of-a' };
const b = { authorization: 'Bearer key-of-b' };
const PATH = '/v1/responses';

const made = z.looseObject({ id: z.string(), output: z.array(z.looseObject({ id: z.string() })) });

async function create(target: Target, headers: Readonly<Record<string, string>>, body: object) {
  const response = await post(target, PATH, body, { headers });
  expect(response.status).toBe(200);
  return made.parse(await response.json());
}

/** Everything that tells one answer from another. */
async function look(response: Response) {
  const headers = Object.fromEntries(response.headers);
  delete headers['x-request-id'];
  delete headers['date'];
  return { status: response.status, headers, body: await response.text() };
}

describe("another key's response", () => {
  const NEVER = 'resp_00000000000000000000000000000000';

  test.each([
    ['GET', ''],
    ['GET', '/input_items'],
    ['POST', '/cancel'],
    ['DELETE', ''],
  ])('is to %s %s as one that never was', async (method, suffix) => {
    const target = await server({ config });
    const { id } = await create(target, a, { input: 'my secret is 4711' });
    const ask = (which: string) =>
      fetch(`${target.url}${PATH}/${which}${suffix}`, { method, headers: b });
    const [its, never] = [await look(await ask(id)), await look(await ask(NEVER))];
    expect(its.status).toBe(404);
    expect(its).toEqual({ ...never, body: never.body.replaceAll(NEVER, id) });
    const own = await fetch(`${target.url}${PATH}/${id}`, { headers: a });
    expect(own.status).toBe(200);
  });

  test('cannot be gone on with', async () => {
    const target = await server({ config });
    const { id } = await create(target, a, { input: 'my secret is 4711' });
    const ask = (which: string) =>
      post(target, PATH, { input: 'Go on.', previous_response_id: which }, { headers: b });
    const [its, never] = [await look(await ask(id)), await look(await ask(NEVER))];
    expect(its.status).toBe(400);
    expect(its).toEqual({ ...never, body: never.body.replaceAll(NEVER, id) });
    expect(target.engine.requests).toHaveLength(1);
  });

  test('at work in the background is not ended', async () => {
    const target = await server({ config, script: babbles, engine: { heldAfter: 1 } });
    const { id } = await create(target, a, { input: 'Hi', background: true });
    await vi.waitFor(() => expect(target.engine.running).toBe(1));
    await fetch(`${target.url}${PATH}/${id}/cancel`, { method: 'POST', headers: b });
    await fetch(`${target.url}${PATH}/${id}`, { method: 'DELETE', headers: b });
    expect(target.engine).toMatchObject({ running: 1, aborted: 0 });
    await fetch(`${target.url}${PATH}/${id}`, { method: 'DELETE', headers: a });
    await vi.waitFor(() => expect(target.engine.running).toBe(0));
  });
});

describe("another key's items", () => {
  const secret = [{ id: 'msg_1', role: 'user', content: 'my secret is 4711' }];

  test('are not found by an id that a client chose, nor by one that the server did', async () => {
    const target = await server({ config, script: says('Noted.') });
    const { output } = await create(target, a, { input: secret });
    const ids = ['msg_1', output[0]?.id ?? ''];
    for (const id of ids) {
      const body = { input: [{ type: 'item_reference', id }] };
      const error = await errorOf(await post(target, PATH, body, { headers: b }), 400);
      expect(error).toMatchObject({ code: 'item_not_found' });
    }
    expect(target.engine.requests).toHaveLength(1);
  });

  test('are not put in the place of own ones', async () => {
    const target = await server({ config });
    await create(target, a, { input: secret });
    await create(target, b, { input: [{ id: 'msg_1', role: 'user', content: 'planted' }] });
    await create(target, a, { input: [{ type: 'item_reference', id: 'msg_1' }] });
    const prompt = target.engine.requests.at(-1)?.promptTokenIds ?? [];
    const text = target.runtime.tokenizer.decode(prompt, { skipSpecialTokens: false });
    expect(text).toContain('my secret is 4711');
  });
});

describe('the prefix cache', () => {
  const saltOf = async (keys: string[], headers: Record<string, string>, salt?: string) => {
    const target = await server({ config: { apiKeys: keys } });
    const body = { prompt: 'Hi', ...(salt === undefined ? {} : { cache_salt: salt }) };
    await post(target, '/v1/completions', body, { headers });
    return target.engine.requests[0]?.cacheSalt;
  };

  test('is apart for each key, whatever salts they send', async () => {
    const salts = new Set([
      await saltOf(config.apiKeys, a),
      await saltOf(config.apiKeys, b),
      await saltOf(config.apiKeys, a, 's'),
      await saltOf(config.apiKeys, b, 's'),
      // Salts a client would have to send if names and salts were only put together.
      await saltOf(config.apiKeys, a, '#2s'),
      await saltOf(config.apiKeys, a, '","'),
    ]);
    expect(salts.size).toBe(6);
    expect(await saltOf(config.apiKeys, a)).toBe(await saltOf(config.apiKeys, a));
  });

  test('is one without keys', async () => {
    expect(await saltOf([], {})).toBe('');
    expect(await saltOf([], {}, 's')).toBe('s');
  });
});

describe('priorities', () => {
  const priorityOf = async (priority: number, options: object = {}) => {
    const target = await server({ config: options });
    await post(target, '/v1/completions', { prompt: 'Hi', priority });
    return target.engine.requests[0]?.priority;
  };

  test.each([
    [-9e15, 0],
    [-1, 0],
    [0, 0],
    [9, 9],
    [10, 9],
    [9e15, 9],
  ])('%d counts as %d', async (asked, granted) => {
    expect(await priorityOf(asked)).toBe(granted);
  });

  test('have the range that the operator grants', async () => {
    const priorities = { min: -2, max: 3 };
    expect(await priorityOf(-9, { priorities })).toBe(-2);
    expect(await priorityOf(9, { priorities })).toBe(3);
  });
});

describe("a queue that is full of another key's requests", () => {
  const long = { prompt: 'Hi', max_tokens: 200, stream: true };

  test.each([1, 6])('of %d places still takes own ones', async (maxQueue) => {
    const held = { script: babbles, engine: { heldAfter: 1 } };
    const target = await server({ ...held, config, concurrency: 1, maxQueue });
    const abort = new AbortController();
    const send = (headers: Record<string, string>) =>
      post(target, '/v1/completions', long, { headers, signal: abort.signal });
    const flood = await Promise.all(Array.from({ length: 2 * maxQueue + 2 }, () => send(b)));
    expect(flood.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
    expect((await send(a)).status).toBe(200);
    abort.abort();
  });
});

test('keys may share prefixes where the operator says so', async () => {
  const target = await server({ config: { ...config, sharePrefixCache: true } });
  for (const headers of [a, b]) {
    await post(target, '/v1/completions', { prompt: 'Hi', cache_salt: 's' }, { headers });
  }
  expect(target.engine.requests.map(({ cacheSalt }) => cacheSalt)).toEqual(['s', 's']);
});
