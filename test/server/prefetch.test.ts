/** Prompts that are computed ahead: asked for, pinned, or guessed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { PUBLIC_SALT } from '../../src/engine/request.ts';
import { NextTurns } from '../../src/front/prefetch/next-turns.ts';
import { PinnedPrefixes } from '../../src/front/prefetch/pinned-prefixes.ts';
import { LIMITS } from '../../src/limits.ts';
import { ApiKeys, digestOf, unnamedKeys } from '../../src/server/auth/api-keys.ts';
import { errorOf, post } from './support/client.ts';
import {
  babbles,
  MODEL,
  says,
  startServer,
  type TestServer,
  type TestServerOptions,
  useServers,
} from './support/test-server.ts';

const server = useServers();
const PATH = '/v1/prefetch';
const messages = [{ role: 'system', content: 'You are terse, and kind to those who ask.' }];

/** Requests to the engine, as text, and how. */
function askedOf({ engine, runtime }: TestServer) {
  return engine.requests.map(({ promptTokenIds, background, cacheSalt, maxTokens }) => ({
    text: runtime.tokenizer.decode(promptTokenIds, { skipSpecialTokens: false }),
    background,
    cacheSalt,
    maxTokens,
  }));
}

describe('POST /v1/prefetch', () => {
  test('computes what a chat begins with, whatever comes next', async () => {
    const target = await server();
    const response = await post(target, PATH, { messages });
    const text = 'system: You are terse, and kind to those who ask.\nuser: ';
    expect(await response.json()).toEqual({
      object: 'prefetch',
      model: MODEL,
      prompt_tokens: text.length,
      cached_tokens: text.length - (text.length % 16),
      computed_tokens: text.length,
    });
    expect(askedOf(target)).toEqual([
      { text, background: 'prefetch', cacheSalt: '', maxTokens: 1 },
    ]);
  });

  test.each([
    [{ messages: [...messages, { role: 'user', content: 'Hi' }] }, /ask\.\nuser: Hi\nassistant: $/],
    [{ prompt: 'Once upon a time' }, /^Once upon a time$/],
    [{ prompt: [1, 2, 3] }, /^!"#$/],
  ])('computes a prompt as it is: %j', async (body, text) => {
    const target = await server();
    expect((await post(target, PATH, body)).status).toBe(200);
    expect(askedOf(target)[0]?.text).toMatch(text);
  });

  test('says what was there already', async () => {
    const target = await server({ engine: { numCachedTokens: 48 } });
    const response = await post(target, PATH, { prompt: 'x'.repeat(70) });
    expect(await response.json()).toMatchObject({ cached_tokens: 64, computed_tokens: 22 });
  });

  test.each([
    [{ prompt: ['a', 'b'] }, 'prompt'],
    [{ prompt: 'x'.repeat(300) }, 'prompt'],
    [{ prompt: [1_000_000] }, 'prompt.0'],
    [{ messages: [] }, 'messages'],
    [{}, 'messages'],
  ])('refuses %j', async (body, param) => {
    const response = await post(await server(), PATH, body);
    expect(await errorOf(response, 400)).toMatchObject({ param });
  });

  test('is found by its own client alone, and takes what it computes from its rate', async () => {
    const target = await server({ config: { apiKeys: ['key-a'] }, rates: { tokens: 100 } });
    const headers = { authorization: 'Bearer key-a' };
    const first = await post(target, PATH, { prompt: 'x'.repeat(60) }, { headers });
    expect(first.headers.get('x-ratelimit-remaining-tokens')).toBe('40');
    expect(askedOf(target)[0]?.cacheSalt).toBe(JSON.stringify(['#f10f781241e2', '']));
    await post(target, '/v1/completions', { prompt: 'x', max_tokens: 1 }, { headers });
    expect(askedOf(target)[1]?.cacheSalt).toBe(JSON.stringify(['#f10f781241e2', '']));
  });

  test('ends when its client leaves, and one client may have few at once', async () => {
    const target = await server({ script: babbles, engine: { delayMs: 60_000 } });
    const leaving = new AbortController();
    const all = Array.from({ length: LIMITS.clientPrefetches }, () =>
      post(target, PATH, { prompt: 'Hi' }, { signal: leaving.signal }),
    );
    while (target.engine.running < LIMITS.clientPrefetches) await sleep(1);
    const refused = await post(target, PATH, { prompt: 'Hi' });
    expect(await errorOf(refused, 429)).toMatchObject({ code: 'queue_full' });
    leaving.abort();
    await Promise.allSettled(all);
    await vi.waitFor(() => expect(target.engine.running).toBe(0));
  });

  test('pins for the operator alone, within a part of the cache', async () => {
    const keys = new ApiKeys(unnamedKeys(['key-a']), digestOf('admin'));
    const pinned: { numTokens: number; pin: PinnedPrefixes['pin']; close(): void }[] = [];
    const target = await startServer({
      keys,
      pinned: {
        pin: async (...of) => {
          const [first] = pinned;
          return first ? first.pin(...of) : { numCachedTokens: 0 };
        },
      },
    });
    const { engine } = target;
    pinned.push(
      new PinnedPrefixes({
        prefetcher: target.runtime.prefetcher,
        engine: { info: { ...engine.info, kvCacheTokens: 400, numSlots: 16 } },
      }),
    );
    const send = (key: string, prompt: string) =>
      post(target, PATH, { prompt, pin: true }, { headers: { authorization: `Bearer ${key}` } });
    expect(await errorOf(await send('key-a', 'Hi'), 403)).toBeDefined();
    expect((await send('admin', 'x'.repeat(60))).status).toBe(200);
    expect((await send('admin', 'x'.repeat(60))).status).toBe(200);
    expect(askedOf(target)[0]).toMatchObject({ background: 'pin', cacheSalt: PUBLIC_SALT });
    expect(await errorOf(await send('admin', 'y'.repeat(60)), 400)).toMatchObject({
      code: 'too_much_pinned',
      message: expect.stringContaining('room for 4 of 100 tokens'),
    });
    for (const each of pinned) each.close();
    await target.close();
  });
});

describe('pinned prefixes', () => {
  test('are asked for again, whatever became of them', async () => {
    const asked: number[] = [];
    const pinned = new PinnedPrefixes({
      engine: { info: { kvCacheTokens: 1000, numSlots: 16 } },
      prefetcher: {
        async prefetch({ tokenIds }) {
          asked.push(tokenIds.length);
          if (asked.length === 3) throw new Error('the engine crashed');
          return { numCachedTokens: 0 };
        },
      },
      refreshMs: 5,
    });
    const { signal } = new AbortController();
    await pinned.pin(new Int32Array(20), signal);
    await vi.waitFor(() => expect(asked.length).toBeGreaterThan(5));
    pinned.close();
    expect(new Set(asked)).toEqual(new Set([20]));
  });
});

describe("a conversation's next turn", () => {
  const question = [{ role: 'user', content: 'Hi' }];

  async function guessing(options: TestServerOptions = {}, isIdle = () => true) {
    let target: TestServer | undefined;
    const outcomes: string[] = [];
    target = await server({
      ...options,
      nextTurns: (prefetcher) =>
        new NextTurns({
          model: {
            prompts: {
              canChat: true,
              encodeChat: (...of) => target!.runtime.prompts.encodeChat(...of),
            },
            model: { id: MODEL, maxModelLen: 256 },
          },
          prefetcher,
          isIdle,
          onEnd: (outcome) => void outcomes.push(outcome),
        }),
    });
    return { target, outcomes };
  }

  test.each([false, true])(
    'is computed when the answer is complete (streamed: %s)',
    async (stream) => {
      const { target, outcomes } = await guessing();
      const response = await post(target, '/v1/chat/completions', { messages: question, stream });
      await response.text();
      await vi.waitFor(() => expect(outcomes).toEqual(['computed']));
      expect(askedOf(target)[1]).toEqual({
        text: 'user: Hi\nassistant: Hello there!\nuser: ',
        background: 'prefetch',
        cacheSalt: '',
        maxTokens: 1,
      });
    },
  );

  test('is found by its client alone', async () => {
    const { target, outcomes } = await guessing({ config: { apiKeys: ['key-a'] } });
    const headers = { authorization: 'Bearer key-a' };
    const body = { messages: question, cache_salt: 'mine' };
    await (await post(target, '/v1/chat/completions', body, { headers })).text();
    await vi.waitFor(() => expect(outcomes).toEqual(['computed']));
    const [asked, ahead] = askedOf(target);
    expect(ahead?.cacheSalt).toBe(asked?.cacheSalt);
    expect(ahead?.cacheSalt).toBe(JSON.stringify(['#f10f781241e2', 'mine']));
  });

  test('is not computed while there is work', async () => {
    const { target, outcomes } = await guessing({}, () => false);
    await (await post(target, '/v1/chat/completions', { messages: question })).text();
    await vi.waitFor(() => expect(outcomes).toEqual(['dropped']));
    expect(target.engine.requests).toHaveLength(1);
  });

  test('is not computed after an answer that was cut short or left', async () => {
    const { target, outcomes } = await guessing({ script: babbles, engine: { delayMs: 5 } });
    const short = { messages: question, max_tokens: 3 };
    await (await post(target, '/v1/chat/completions', short)).text();
    const leaving = new AbortController();
    const left = post(target, '/v1/chat/completions', { messages: question }, leaving);
    while (target.engine.running === 0) await sleep(1);
    leaving.abort();
    await expect(left).rejects.toThrow('aborted');
    await vi.waitFor(() => expect(target.engine.running).toBe(0));
    await sleep(30);
    expect(outcomes).toEqual([]);
    expect(target.engine.requests).toHaveLength(2);
  });

  test('is dropped where others have been answered since', async () => {
    const { target, outcomes } = await guessing({
      script: (_prompt, { background }) =>
        background === undefined ? says('Hello there!')(_prompt, {} as never) : babbles(),
      engine: { delayMs: 1 },
      concurrency: 64,
      maxQueue: 64,
    });
    // Work ahead never ends here: one token a prompt is for a real engine.
    vi.spyOn(target.runtime.prefetcher, 'prefetch').mockImplementation(async (_request, signal) => {
      await sleep(60_000, undefined, { signal });
      return { numCachedTokens: 0 };
    });
    for (let index = 0; index < LIMITS.nextTurns + 2; index++) {
      const body = { messages: [{ role: 'user', content: `Hi ${index}` }] };
      await (await post(target, '/v1/chat/completions', body)).text();
    }
    await vi.waitFor(() => expect(outcomes).toEqual(['dropped', 'dropped']));
  });
});
