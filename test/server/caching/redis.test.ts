/** State that replicas share by Redis, and what is left while it is gone. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { GenerationCache } from '../../../src/front/response-cache/generation-cache.ts';
import { TwoLevelCache } from '../../../src/front/response-cache/two-level-cache.ts';
import { RedisAnswers } from '../../../src/net/redis-answers.ts';
import { RedisLink, RedisUnavailableError } from '../../../src/net/redis-link.ts';
import { redisLimiter } from '../../../src/server/rates/redis-limiter.ts';
import { needs, REDIS } from '../../support/needs.ts';
import { RedisServer } from '../../support/redis-server.ts';
import { post, type Target } from '../support/client.ts';
import { MODEL, says, tokensOf, useServers } from '../support/test-server.ts';

const start = useServers();
const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function startRedis(): Promise<RedisServer> {
  const redis = await RedisServer.start();
  closing.push(() => redis.kill());
  return redis;
}

/** @param timeoutMs of a command: long unless told, for the machine may have other work */
async function linkTo({ url }: RedisServer, timeoutMs = 5000): Promise<RedisLink> {
  const link = new RedisLink(url, { timeoutMs });
  closing.push(() => link.close());
  await until(() => link.isUp);
  return link;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5);
}

function cacheOver(link: RedisLink): GenerationCache {
  const second = new RedisAnswers(link);
  const limits = { maxBytes: 2 ** 20, maxEntryBytes: 2 ** 20, ttlMs: 60_000 };
  return new GenerationCache(new TwoLevelCache({ ...limits, second }));
}

const PATH = '/v1/completions';
const greedy = { model: MODEL, temperature: 0 };

/** The answer's text, and where it came from. */
async function ask(target: Target, prompt: string) {
  const response = await post(target, PATH, { ...greedy, prompt });
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status: 200 });
  const told = /"text":"([^"]*)"/.exec(text)?.[1];
  return { status: response.headers.get('x-chairlift-cache'), text: told };
}

describe('answers in Redis', needs(REDIS), () => {
  test('a replica tells what another one computed, and a restarted one too', async () => {
    const redis = await startRedis();
    let count = 0;
    const script = () => tokensOf(`Answer ${++count}`);
    const replica = async () => start({ script, answers: cacheOver(await linkTo(redis)) });
    const one = await replica();
    expect(await ask(one, 'Hi')).toEqual({ status: 'miss', text: 'Answer 1' });
    for (const other of [await replica(), await replica()]) {
      expect(await ask(other, 'Hi')).toEqual({ status: 'hit', text: 'Answer 1' });
    }
    expect(count).toBe(1);
  });

  test('one that was damaged there is computed again', async () => {
    const redis = await startRedis();
    const link = await linkTo(redis);
    const first = await start({ answers: cacheOver(link) });
    await ask(first, 'Hi');
    const [key = ''] = await link.run((client) => client.keys('chairlift:answer:*'));
    await link.run((client) => client.setrange(key, 40, 'xxxx'));
    const answers = cacheOver(link);
    const second = await start({ answers });
    expect(await ask(second, 'Hi')).toEqual({ status: 'miss', text: 'Hello there!' });
    expect(answers.counts).toMatchObject({ errors: 1, hits: { redis: 0 } });
  });

  test('no request fails while Redis is killed, frozen and started again', async () => {
    const redis = await startRedis();
    const link = await linkTo(redis, 100);
    const answers = cacheOver(link);
    const target = await start({
      script: says('ok'),
      answers,
      concurrency: 32,
      maxQueue: 64,
      rates: { requests: 1_000_000, tokens: 1_000_000_000 },
      createLimiter: (options) => redisLimiter(link, options),
    });
    const over = new AbortController();
    let numAnswers = 0;
    const clients = Array.from({ length: 4 }, async (_, client) => {
      while (!over.signal.aborted) {
        const { text } = await ask(target, `${client} ${numAnswers % 50}`);
        expect(text).toBe('ok');
        numAnswers++;
      }
    });
    const moreAnswers = (): Promise<void> => {
      const before = numAnswers;
      return until(() => numAnswers > before + 50);
    };
    for (let round = 0; round < 2; round++) {
      await moreAnswers();
      await redis.kill();
      await moreAnswers();
      await redis.start();
      await moreAnswers();
      redis.freeze();
      await moreAnswers();
      redis.thaw();
      await until(() => link.isUp);
    }
    over.abort();
    await Promise.all(clients);
    expect(link.numErrors).toBeGreaterThan(0);
    expect(answers.counts.hits.memory).toBeGreaterThan(0);
  });

  test('a frozen Redis is asked a few times, and not for each request', async () => {
    const redis = await startRedis();
    const link = await linkTo(redis, 100);
    const target = await start({ answers: cacheOver(link) });
    redis.freeze();
    for (let index = 0; index < 60; index++) await ask(target, `Hi ${index}`);
    // Three failures, of lookups and of what was to be kept, and what began before the third. Then it
    // is tried after 1 s, after 2 s more, 4 s: a slow machine comes to some of these.
    expect(link.numErrors).toBeLessThanOrEqual(12);
    redis.thaw();
  });

  test('an answer is asked for in vain where nobody listens, at once', async () => {
    const redis = await startRedis();
    await redis.kill();
    const link = new RedisLink(redis.url);
    closing.push(() => link.close());
    await expect(link.run((client) => client.get('x'))).rejects.toThrow(RedisUnavailableError);
    expect(await ask(await start({ answers: cacheOver(link) }), 'Hi')).toMatchObject({
      status: 'miss',
    });
  });
});

describe('rates in Redis', needs(REDIS), () => {
  const KEYS = ['key-a', 'key-b', 'key-c'];

  /** Two servers that count together. */
  async function pair(redis: RedisServer, rates: { requests?: number; tokens?: number }) {
    return Promise.all(
      [1, 2].map(async () => {
        const link = await linkTo(redis);
        return start({
          script: says('Hello there!'),
          config: { apiKeys: KEYS },
          rates,
          concurrency: 64,
          maxQueue: 256,
          createLimiter: (options) => redisLimiter(link, options),
        });
      }),
    );
  }

  const send = (target: Target, key: string) =>
    post(
      target,
      PATH,
      { ...greedy, prompt: 'Hi', max_tokens: 4 },
      { headers: { authorization: `Bearer ${key}` } },
    );

  test('hold for all servers together', async () => {
    const targets = await pair(await startRedis(), { requests: 30 });
    const statuses = await Promise.all(
      KEYS.flatMap((key) =>
        Array.from({ length: 60 }, async (_, index) => {
          const response = await send(targets[index % 2] ?? { url: '' }, key);
          await response.arrayBuffer();
          return { key, status: response.status };
        }),
      ),
    );
    for (const key of KEYS) {
      const passed = statuses.filter((each) => each.key === key && each.status === 200);
      expect(passed).toHaveLength(30);
    }
  });

  test('tokens too, and what was not used comes back for all', async () => {
    const [one, two] = await pair(await startRedis(), { tokens: 60 });
    // Six of each: two of the prompt, four of the answer.
    let passed = 0;
    for (let index = 0; index < 20; index++) {
      const target = index % 2 === 0 ? one : two;
      const response = await send(target ?? { url: '' }, 'key-a');
      await response.arrayBuffer();
      if (response.status === 200) passed++;
    }
    expect(passed).toBe(10);
  });

  test('what was taken in Redis is no credit in memory', async () => {
    const redis = await startRedis();
    const link = await linkTo(redis);
    const limiter = redisLimiter(link, { keyPrefix: 'tokens:10', points: 10, duration: 60 });
    await limiter.consume('a', 8);
    await redis.kill();
    await limiter.reward('a', 8);
    expect((await limiter.consume('a', 10)).remainingPoints).toBe(0);
    await expect(limiter.consume('a', 1)).rejects.toMatchObject({ consumedPoints: 11 });
    await limiter.reward('a', 11);
    expect((await limiter.consume('a', 3)).remainingPoints).toBe(7);
  });

  test('hold for each server alone while Redis is gone, without a failed request', async () => {
    const redis = await startRedis();
    const targets = await pair(redis, { requests: 10 });
    await redis.kill();
    for (const target of targets) {
      const statuses: number[] = [];
      for (let index = 0; index < 15; index++) {
        const response = await send(target, 'key-a');
        await response.arrayBuffer();
        statuses.push(response.status);
      }
      expect(statuses).toEqual([...Array<number>(10).fill(200), ...Array<number>(5).fill(429)]);
    }
  });
});
