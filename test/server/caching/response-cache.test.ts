/** Answers that were computed before: what is told is what was computed, to the last bit. */
import { describe, expect, test, vi } from 'vitest';
import { GenerationCache } from '../../../src/front/response-cache/generation-cache.ts';
import { TwoLevelCache } from '../../../src/front/response-cache/two-level-cache.ts';
import { errorOf, post, type PostOptions, type Target } from '../support/client.ts';
import {
  MODEL,
  says,
  type TestServer,
  type TestServerOptions,
  tokensOf,
  useServers,
} from '../support/test-server.ts';
import { connect } from '../support/web-socket.ts';
import { HERMES } from '../../support/chat-formats.ts';

const start = useServers();

function answersOf(maxBytes = 2 ** 20): GenerationCache {
  const store = new TwoLevelCache({ maxBytes, maxEntryBytes: 2 ** 20, ttlMs: 60_000 });
  return new GenerationCache(store);
}

/** Says another text each time, so that what is told twice was computed once. */
function counting(text = 'Answer'): NonNullable<TestServerOptions['script']> {
  let count = 0;
  return () => tokensOf(`${text} ${++count}`);
}

async function server(options: TestServerOptions = {}) {
  return await start({ script: counting(), answers: answersOf(), ...options });
}

const messages = [{ role: 'user', content: 'Hi' }];
const greedy = { model: MODEL, temperature: 0 };
const CHAT = '/v1/chat/completions';

/** Each API with a body that always has the same answer. */
const APIS: readonly (readonly [path: string, body: object])[] = [
  [CHAT, { ...greedy, messages }],
  [CHAT, { ...greedy, messages, logprobs: true, top_logprobs: 3, n: 2 }],
  ['/v1/completions', { ...greedy, prompt: ['Hi', 'Ho'], logprobs: 2, echo: true }],
  ['/v1/completions', { model: MODEL, seed: 7, prompt: 'Hi', stop: ['r 1'] }],
  ['/v1/completions', { ...greedy, prompt: 'Hi', prompt_logprobs: 1, return_token_ids: true }],
  ['/v1/responses', { ...greedy, input: 'Hi', store: false }],
  ['/v1/messages', { ...greedy, messages, max_tokens: 20 }],
  ['/api/chat', { model: MODEL, messages, stream: false, options: { temperature: 0 } }],
];

/** Without what is new in each answer: its ids and times. */
function lasting(text: string): string {
  return text
    .replaceAll(/^: server-timing .*$/gm, '')
    .replaceAll(/"(id|item_id|response_id)":"[^"]*"/g, '"$1":""')
    .replaceAll(/"(created|created_at|completed_at|\w+_duration)":("[^"]*"|\d+)/g, '"$1":0');
}

async function ask(target: Target, path: string, body: object, options: PostOptions = {}) {
  const response = await post(target, path, body, options);
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status: 200 });
  const status = response.headers.get('x-chairlift-cache');
  return { status, age: response.headers.get('age'), text: lasting(text) };
}

/** Waits until so many requests read what another one computes. */
const joined = ({ context }: TestServer, count: number) =>
  vi.waitFor(() => expect(context.answers?.counts.shared).toBe(count));

const byName = (a: string | null, b: string | null) => (a ?? '').localeCompare(b ?? '');

const cacheControl = (value: string): PostOptions => ({ headers: { 'cache-control': value } });

describe('every API', () => {
  test.each(APIS)('%s tells the same again: %j', async (path, body) => {
    const target = await server();
    const first = await ask(target, path, body);
    const numRuns = target.engine.requests.length;
    const second = await ask(target, path, body);
    expect([first.status, second.status]).toEqual(['miss', 'hit']);
    expect(second.text).toBe(first.text);
    expect(first.age).toBeNull();
    expect(Number(second.age ?? NaN)).toBeLessThan(60);
    expect(target.engine.requests).toHaveLength(numRuns);
  });

  test.each(APIS.slice(0, 4))('%s streams what was told whole: %j', async (path, body) => {
    const target = await server();
    const whole = await ask(target, path, body);
    const options = { stream: true, stream_options: { include_usage: true } };
    const streamed = await ask(target, path, { ...body, ...options });
    const again = await ask(target, path, { ...body, ...options });
    expect([whole.status, streamed.status, again.status]).toEqual(['miss', 'hit', 'hit']);
    expect(again.text).toBe(streamed.text);
    const usageOf = (text: string) => /"usage":\{[^}]*\}[^}]*\}?/g.exec(text)?.[0];
    expect(streamed.text).toContain(usageOf(whole.text) ?? 'no usage');
    expect(streamed.text).toContain('[DONE]');
  });

  test('a stream that was computed is the one that is told later', async () => {
    const target = await server();
    const body = { ...greedy, messages, stream: true };
    const contentOf = (text: string) =>
      Array.from(text.matchAll(/"content":"([^"]*)"/g), ([, part]) => part).join('');
    const computed = await ask(target, CHAT, body);
    const told = await ask(target, CHAT, body);
    expect([computed.status, told.status]).toEqual(['miss', 'hit']);
    expect(contentOf(told.text)).toBe('Answer 1');
    expect(contentOf(computed.text)).toBe('Answer 1');
  });

  test('tool calls come as tool calls', async () => {
    const text = '<tool_call>\n{"name": "now", "arguments": {"zone": "UTC"}}\n</tool_call>';
    const target = await server({
      script: says(text),
      chatFormat: { toolCalls: HERMES, reasoning: null },
      maxModelLen: 2000,
    });
    const tools = [{ type: 'function', function: { name: 'now', parameters: {} } }];
    const body = { ...greedy, messages, tools };
    const first = await ask(target, CHAT, body);
    const second = await ask(target, CHAT, body);
    expect(second.status).toBe('hit');
    expect(first.text).toContain('"finish_reason":"tool_calls"');
    expect(second.text).toBe(first.text);
  });

  test('a WebSocket tells what HTTP computed', async () => {
    const target = await server();
    await ask(target, CHAT, { ...greedy, messages });
    const socket = await connect(target, CHAT);
    socket.send({ request_id: 'a', ...greedy, messages });
    const [frame] = await socket.answer('a');
    expect(JSON.stringify(frame)).toContain('Answer 1');
    expect(target.engine.requests).toHaveLength(1);
  });
});

describe('which answers', () => {
  test.each([
    ['another prompt', { prompt: 'Ho' }],
    ['another length', { prompt: 'Hi', max_tokens: 9 }],
    ['a stop string', { prompt: 'Hi', stop: ['9'] }],
    ['a bias', { prompt: 'Hi', logit_bias: { 3: 1 } }],
    ['another number of log-probabilities', { prompt: 'Hi', logprobs: 1 }],
    ['a penalty', { prompt: 'Hi', presence_penalty: 1 }],
    ['a salt', { prompt: 'Hi', cache_salt: 'mine' }],
    ['another user of a server without keys', { prompt: 'Hi', user: 'somebody' }],
  ])('%s is another answer', async (_, body) => {
    const target = await server();
    await ask(target, '/v1/completions', { ...greedy, prompt: 'Hi' });
    expect((await ask(target, '/v1/completions', { ...greedy, ...body })).status).toBe('miss');
  });

  test.each([
    ['the priority', { priority: 3 }],
    ['the time limit', { timeout: 20 }],
    ['a seed that nothing reads', { seed: 3 }],
  ])('%s makes no other answer', async (_, more) => {
    const target = await server();
    await ask(target, '/v1/completions', { ...greedy, prompt: 'Hi' });
    const again = await ask(target, '/v1/completions', { ...greedy, prompt: 'Hi', ...more });
    expect(again.status).toBe('hit');
  });

  test('one that would be another each time is not kept, unless its seed is named', async () => {
    const target = await server();
    const sampled = { model: MODEL, prompt: 'Hi', temperature: 1 };
    const asked = ['/v1/completions', sampled] as const;
    expect((await ask(target, ...asked)).status).toBe('bypass');
    expect((await ask(target, ...asked)).status).toBe('bypass');
    const seeded = { ...sampled, seed: 3 };
    expect((await ask(target, '/v1/completions', seeded)).status).toBe('miss');
    expect((await ask(target, '/v1/completions', seeded)).status).toBe('hit');
    expect((await ask(target, '/v1/completions', { ...sampled, seed: 4 })).status).toBe('miss');
  });

  test('whoever names an age takes an earlier one', async () => {
    const target = await server();
    const sampled = ['/v1/completions', { model: MODEL, prompt: 'Hi' }] as const;
    const first = await ask(target, ...sampled, cacheControl('max-age=60'));
    const second = await ask(target, ...sampled, cacheControl('max-age=60'));
    expect([first.status, second.status]).toEqual(['miss', 'hit']);
    expect(second.text).toBe(first.text);
    expect((await ask(target, ...sampled)).status).toBe('bypass');
  });

  test('a failed one is not kept', async () => {
    let isBroken = true;
    const target = await server({
      script() {
        if (isBroken) throw new Error('broken');
        return tokensOf('well');
      },
    });
    const body = { ...greedy, prompt: 'Hi' };
    expect((await post(target, '/v1/completions', body)).status).toBe(500);
    isBroken = false;
    expect((await ask(target, '/v1/completions', body)).status).toBe('miss');
  });

  test('none of another key', async () => {
    const target = await server({ config: { apiKeys: ['key-a', 'key-b'] } });
    const body = { ...greedy, prompt: 'Hi' };
    const of = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
    const statusOf = async (key: string) =>
      (await ask(target, '/v1/completions', body, of(key))).status;
    expect(await statusOf('key-a')).toBe('miss');
    expect(await statusOf('key-b')).toBe('miss');
    expect(await statusOf('key-a')).toBe('hit');
    const only = { headers: { ...of('key-b').headers, 'cache-control': 'only-if-cached' } };
    const other = await post(target, '/v1/completions', { ...body, prompt: 'of a' }, only);
    expect(await errorOf(other, 504)).toMatchObject({ code: 'not_cached' });
  });

  test('no header, and no answer, where nothing is kept', async () => {
    const target = await server({ answers: null });
    const first = await ask(target, '/v1/completions', { ...greedy, prompt: 'Hi' });
    const second = await ask(target, '/v1/completions', { ...greedy, prompt: 'Hi' });
    expect([first.status, second.status]).toEqual([null, null]);
    expect(second.text).not.toBe(first.text);
  });
});

describe('Cache-Control', () => {
  const asked = ['/v1/completions', { ...greedy, prompt: 'Hi' }] as const;

  test('no-store neither finds nor keeps', async () => {
    const target = await server();
    expect((await ask(target, ...asked, cacheControl('no-store'))).status).toBe('bypass');
    expect((await ask(target, ...asked)).status).toBe('miss');
    expect((await ask(target, ...asked, cacheControl('no-store'))).status).toBe('bypass');
  });

  test.each(['no-cache', 'max-age=0', 'No-Cache, foo'])(
    '%s finds nothing, and keeps',
    async (value) => {
      const target = await server();
      await ask(target, ...asked);
      const renewed = await ask(target, ...asked, cacheControl(value));
      expect(renewed.status).toBe('miss');
      expect((await ask(target, ...asked)).text).toBe(renewed.text);
    },
  );

  test('only-if-cached computes nothing', async () => {
    const target = await server();
    const refused = await post(target, ...asked, cacheControl('only-if-cached'));
    expect(await errorOf(refused, 504)).toMatchObject({ code: 'not_cached' });
    expect(target.engine.requests).toHaveLength(0);
    await ask(target, ...asked);
    expect((await ask(target, ...asked, cacheControl('only-if-cached'))).status).toBe('hit');
  });
});

describe('equal requests at the same time', () => {
  test('share one run', async () => {
    const target = await server({ engine: { heldAfter: 1 } });
    const asked = Array.from({ length: 5 }, () => ask(target, CHAT, { ...greedy, messages }));
    await joined(target, 4);
    target.engine.release();
    const all = await Promise.all(asked);
    expect(all.map(({ status }) => status).toSorted(byName)).toEqual([
      'miss',
      ...Array<string>(4).fill('shared'),
    ]);
    expect(new Set(all.map(({ text }) => text)).size).toBe(1);
    expect(target.engine.requests).toHaveLength(1);
  });

  test('go on when the first one leaves', async () => {
    const target = await server({ engine: { heldAfter: 1 } });
    const leaving = new AbortController();
    const body = { ...greedy, messages };
    const first = post(target, CHAT, body, { signal: leaving.signal });
    await vi.waitFor(() => expect(target.engine.running).toBe(1));
    const second = ask(target, CHAT, body);
    await joined(target, 1);
    leaving.abort();
    await expect(first).rejects.toThrow('aborted');
    await vi.waitFor(() => expect(target.context.running.size).toBe(1));
    target.engine.release();
    expect(await second).toMatchObject({
      status: 'shared',
      text: expect.stringContaining('Answer 1'),
    });
    expect(target.engine).toMatchObject({ finished: 1, aborted: 0 });
    expect((await ask(target, CHAT, body)).status).toBe('hit');
  });

  test('end when all have left', async () => {
    const target = await server({ engine: { heldAfter: 1 } });
    const leaving = new AbortController();
    const both = Array.from({ length: 2 }, () =>
      post(target, CHAT, { ...greedy, messages }, { signal: leaving.signal }),
    );
    await joined(target, 1);
    leaving.abort();
    await Promise.allSettled(both);
    await vi.waitFor(() => expect(target.engine.running).toBe(0));
    expect(target.engine).toMatchObject({ finished: 0, aborted: 1 });
  });

  test('do not wait with a request of another priority', async () => {
    const target = await server({ engine: { heldAfter: 1 } });
    const asked = [0, 5].map((priority) => ask(target, CHAT, { ...greedy, messages, priority }));
    await vi.waitFor(() => expect(target.engine.running).toBe(2));
    target.engine.release();
    const statuses = await Promise.all(asked);
    expect(statuses.map(({ status }) => status)).toEqual(['miss', 'miss']);
  });
});

describe('what it costs', () => {
  const headers = { authorization: 'Bearer key-a' };
  const remainingOf = (response: Response) =>
    Number(response.headers.get('x-ratelimit-remaining-tokens'));

  test('a stored answer takes none of the tokens per minute', async () => {
    const target = await server({ config: { apiKeys: ['key-a'] }, rates: { tokens: 40 } });
    const body = { ...greedy, prompt: 'Hi', max_tokens: 10 };
    const first = await post(target, '/v1/completions', body, { headers });
    expect(remainingOf(first)).toBe(40 - 2 - 9);
    for (let index = 0; index < 10; index++) {
      expect((await ask(target, '/v1/completions', body, { headers })).status).toBe('hit');
    }
    const other = await post(target, '/v1/completions', { ...body, prompt: 'Ho' }, { headers });
    expect(remainingOf(other)).toBe(40 - 2 * (2 + 9));
  });

  test('a shared run is paid once', async () => {
    const target = await server({
      config: { apiKeys: ['key-a'] },
      rates: { tokens: 100 },
      engine: { heldAfter: 1 },
    });
    const body = { ...greedy, prompt: 'Hi', max_tokens: 10 };
    const asked = [1, 2, 3].map(() => ask(target, '/v1/completions', body, { headers }));
    await joined(target, 2);
    target.engine.release();
    await Promise.all(asked);
    const other = await post(target, '/v1/completions', { ...body, prompt: 'Ho' }, { headers });
    expect(remainingOf(other)).toBe(100 - 2 * (2 + 9));
  });
});

describe('equal requests of different service classes', () => {
  const body = { ...greedy, messages };
  const slow = { ...body, service_tier: 'flex' };

  test('have one answer', async () => {
    const target = await server();
    const first = await ask(target, CHAT, slow);
    const second = await ask(target, CHAT, { ...body, service_tier: 'default' });
    expect([first.status, second.status]).toEqual(['miss', 'hit']);
    expect(target.engine.requests).toHaveLength(1);
  });

  test('do not wait for each other', async () => {
    const target = await server({ engine: { heldAfter: 1 } });
    const asked = [slow, slow, body].map((each) => ask(target, CHAT, each));
    await joined(target, 1);
    await vi.waitFor(() => expect(target.engine.running).toBe(2));
    target.engine.release();
    const answers = await Promise.all(asked);
    expect(answers.map(({ status }) => status).sort(byName)).toEqual(['miss', 'miss', 'shared']);
    expect(target.engine.requests.map(({ tier }) => tier).sort((a, b) => a - b)).toEqual([0, 1000]);
  });
});
