/** /v1/requests: what runs, and an end to it. */
import { describe, expect, test, vi } from 'vitest';
import { ApiKeys, digestOf, unnamedKeys } from '../../../src/server/auth/api-keys.ts';
import { errorOf, post } from '../support/client.ts';
import { babbles, MODEL, type TestServer, useServers } from '../support/test-server.ts';
import { connect } from '../support/web-socket.ts';

const server = useServers();

const a = { authorization: 'Bearer key-a' };
const b = { authorization: 'Bearer key-b' };
const admin = { authorization: 'Bearer root' };
const body = { prompt: 'Hello', max_tokens: 200 };

/** Two clients, and an operator if asked for. Each request runs until it is ended. */
function shared(hasAdmin = true, concurrency = 8): Promise<TestServer> {
  const keys = new ApiKeys(unnamedKeys(['key-a', 'key-b']), hasAdmin ? digestOf('root') : null);
  return server({ keys, script: babbles, engine: { heldAfter: 1 }, concurrency });
}

interface Listed {
  readonly data: readonly {
    readonly id: string;
    readonly client: string;
    readonly state: string;
  }[];
  readonly has_more: boolean;
}

async function list({ url }: TestServer, headers = {}): Promise<Listed> {
  const response = await fetch(`${url}/v1/requests`, { headers });
  expect(response.status).toBe(200);
  return (await response.json()) as Listed;
}

function end({ url }: TestServer, id: string, headers = {}): Promise<Response> {
  return fetch(`${url}/v1/requests/${encodeURIComponent(id)}`, { method: 'DELETE', headers });
}

describe('the list', () => {
  test('says what runs and what waits, and nothing of its text', async () => {
    const target = await shared(true, 1);
    const first = post(
      target,
      '/v1/completions',
      { ...body, n: 1 },
      { headers: { ...a, 'x-request-id': 'one' } },
    );
    await vi.waitFor(async () => expect((await list(target, admin)).data).toHaveLength(1));
    const second = post(target, '/v1/completions', body, {
      headers: { ...b, 'x-request-id': 'two' },
    });
    await vi.waitFor(async () => {
      const { data, has_more } = await list(target, admin);
      expect(has_more).toBe(false);
      expect(data).toEqual([
        {
          id: 'one',
          object: 'request',
          client: '#f10f781241e2',
          model: MODEL,
          state: 'decode',
          prompt_tokens: 5,
          completion_tokens: expect.any(Number),
          age_seconds: expect.any(Number),
        },
        expect.objectContaining({
          id: 'two',
          client: '#a30534a53b23',
          state: 'waiting',
          completion_tokens: 0,
        }),
      ]);
    });
    for (const id of ['one', 'two']) expect((await end(target, id, admin)).status).toBe(200);
    await Promise.all([first, second]);
    expect((await list(target, admin)).data).toEqual([]);
  });

  test('is for the operator where there is one; else each client sees its own', async () => {
    await errorOf(await fetch(`${(await shared()).url}/v1/requests`, { headers: a }), 403);
    await errorOf(await fetch(`${(await shared()).url}/v1/requests`), 401);
    const target = await shared(false);
    const running = post(target, '/v1/completions', body, {
      headers: { ...a, 'x-request-id': 'x' },
    });
    await vi.waitFor(async () => expect((await list(target, a)).data).toMatchObject([{ id: 'x' }]));
    expect((await list(target, b)).data).toEqual([]);
    await end(target, 'x', a);
    await running;
  });

  test('loses a request that ended, failed or whose client left', async () => {
    const target = await server({
      script: function* (prompt) {
        yield 1;
        if (prompt.length > 5) throw new Error('no');
      },
    });
    await (await post(target, '/v1/completions', body)).text();
    await (await post(target, '/v1/completions', { ...body, stream: true })).text();
    await errorOf(await post(target, '/v1/completions', { prompt: 'too long' }), 500);
    await vi.waitFor(() => expect(target.context.running.size).toBe(0));
    const endless = await server({ script: babbles, engine: { heldAfter: 1 } });
    const leaving = new AbortController();
    await post(endless, '/v1/completions', { ...body, stream: true }, { signal: leaving.signal });
    expect(endless.context.running.size).toBe(1);
    leaving.abort();
    await vi.waitFor(() => expect(endless.context.running.size).toBe(0));
  });
});

describe('an aborted request', () => {
  test('in one piece ends with an error that is not tried again, and its slot is free', async () => {
    const target = await shared(true, 1);
    const answer = post(target, '/v1/completions', body, {
      headers: { ...a, 'x-request-id': 'one' },
    });
    await vi.waitFor(() => expect(target.engine.running).toBe(1));
    expect(await (await end(target, 'one', admin)).json()).toEqual({
      id: 'one',
      object: 'request',
      aborted: true,
    });
    const response = await answer;
    expect(response.headers.get('x-should-retry')).toBe('false');
    expect(await errorOf(response, 409)).toMatchObject({ code: 'request_aborted' });
    await vi.waitFor(() => {
      expect(target.engine).toMatchObject({ running: 0, aborted: 1 });
      expect(target.admission.running).toBe(0);
    });
    await errorOf(await end(target, 'one', admin), 404);
  });

  test.each([
    ['/v1/completions', body, 'data: [DONE]\n\n'],
    ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }, 'data: [DONE]\n\n'],
    ['/v1/messages', { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 200 }, ''],
    ['/v1/responses', { input: 'Hi' }, ''],
  ])('of %s ends its stream with an error event', async (path, request, last) => {
    const target = await shared();
    const response = await post(target, path, { ...request, stream: true }, { headers: a });
    const id = response.headers.get('x-request-id') ?? '';
    expect((await end(target, id, a)).status).toBe(200);
    const text = await response.text();
    expect(text).toContain('DELETE /v1/requests');
    expect(text.endsWith(last)).toBe(true);
    await vi.waitFor(() => expect(target.engine.running).toBe(0));
    expect(target.context.running.size).toBe(0);
  });

  test('that waits leaves the queue', async () => {
    const target = await shared(true, 1);
    const headers = (id: string) => ({ headers: { ...a, 'x-request-id': id } });
    const [running, waiting] = ['runs', 'waits'].map((id) =>
      post(target, '/v1/completions', body, headers(id)),
    );
    await vi.waitFor(() => expect(target.admission.waiting).toBe(1));
    const { data } = await list(target, admin);
    const id = data.find(({ state }) => state === 'waiting')?.id ?? '';
    await end(target, id, admin);
    await vi.waitFor(() => expect(target.admission.waiting).toBe(0));
    expect(target.engine.running).toBe(1);
    for (const { id: other } of (await list(target, admin)).data) await end(target, other, admin);
    await Promise.all([running, waiting]);
  });

  test("is not another key's, of which nothing is told", async () => {
    const target = await shared();
    const options = { headers: { ...a, 'x-request-id': 'mine' } };
    const answer = post(target, '/v1/completions', body, options);
    await vi.waitFor(() => expect(target.engine.running).toBe(1));
    const [foreign, none] = await Promise.all([
      errorOf(await end(target, 'mine', b), 404),
      errorOf(await end(target, 'none', b), 404),
    ]);
    expect(foreign).toEqual({ ...none, message: none.message.replace('none', 'mine') });
    await errorOf(await end(target, 'mine'), 401);
    expect(target.engine.running).toBe(1);
    // An id that another client chose too ends the own request only.
    const other = post(target, '/v1/completions', body, {
      headers: { ...b, 'x-request-id': 'mine' },
    });
    await vi.waitFor(() => expect(target.engine.running).toBe(2));
    expect((await end(target, 'mine', b)).status).toBe(200);
    await errorOf(await other, 409);
    expect(target.engine.running).toBe(1);
    await end(target, 'mine', a);
    await errorOf(await answer, 409);
  });

  test('of a WebSocket goes by the id of its frame', async () => {
    const target = await server({ script: babbles, engine: { heldAfter: 1 } });
    const socket = await connect(target, '/v1/completions');
    socket.send({ request_id: 'frame-1', ...body, stream: true });
    await vi.waitFor(() => expect(target.engine.running).toBe(1));
    expect((await end(target, 'frame-1')).status).toBe(200);
    const frames = await socket.answer('frame-1');
    expect(JSON.stringify(frames.at(-2))).toContain('request_aborted');
    await vi.waitFor(() => expect(target.engine.running).toBe(0));
  });
});
