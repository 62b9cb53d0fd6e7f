/** Where other replicas are found. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { RedisLink } from '../../../src/net/redis-link.ts';
import { Directories } from '../../../src/server/resume/peers/directory.ts';
import { DnsDirectory, type Resolver } from '../../../src/server/resume/peers/dns-directory.ts';
import { RedisDirectory } from '../../../src/server/resume/peers/redis-directory.ts';
import { ResumeKey } from '../../../src/server/resume/resume-key.ts';
import { needs, REDIS } from '../../support/needs.ts';
import { RedisServer } from '../../support/redis-server.ts';

const hrefsOf = (urls: readonly URL[]) => urls.map(({ href }) => href);

describe('DNS', () => {
  const resolver: Resolver = {
    lookup: async (name) => {
      if (name === 'replicas') {
        return [
          { address: '10.0.0.1', family: 4 },
          { address: '10.0.0.2', family: 4 },
          { address: 'fd00::3', family: 6 },
        ];
      }
      if (name === 'b.replicas') return [{ address: '10.0.0.2', family: 4 }];
      if (name === 'a.replicas') return [{ address: '10.0.0.1', family: 4 }];
      if (name === 'silent') return sleep(60_000, [], { ref: false });
      throw new Error(`no such name: ${name}`);
    },
    resolveSrv: async () => [
      { name: 'b.replicas.', port: 8002, priority: 10 },
      { name: 'a.replicas', port: 8001, priority: 1 },
    ],
  };
  const at = (url: string) => new DnsDirectory(new URL(url), resolver);

  test('has all addresses of a name', async () => {
    expect(hrefsOf(await at('http://replicas:8000').find())).toEqual([
      'http://10.0.0.1:8000/',
      'http://10.0.0.2:8000/',
      'http://[fd00::3]:8000/',
    ]);
  });

  test('has names and ports of a service, the preferred ones first', async () => {
    const url = 'http://_http._tcp.replicas.default.svc.cluster.local';
    expect(hrefsOf(await at(url).find())).toEqual([
      'http://10.0.0.1:8001/',
      'http://10.0.0.2:8002/',
    ]);
  });

  test('leaves out the server itself', async () => {
    const directory = at('http://replicas:8000');
    const reached = new URL('http://10.0.0.2:8000');
    directory.enter({ bound: new URL('http://0.0.0.0:8000'), reached });
    expect(hrefsOf(await directory.find())).toEqual([
      'http://10.0.0.1:8000/',
      'http://[fd00::3]:8000/',
    ]);
    const local = new DnsDirectory(new URL('http://127.0.0.1:8000'), resolver);
    local.enter({ bound: new URL('http://0.0.0.0:8000'), reached });
    expect(await local.find()).toEqual([]);
    // Another server of this machine.
    const neighbour = new DnsDirectory(new URL('http://127.0.0.1:8001'), resolver);
    neighbour.enter({ bound: new URL('http://0.0.0.0:8000'), reached });
    expect(await neighbour.find()).toHaveLength(1);
  });

  test('leaves names to certificates, and asks for no address', async () => {
    expect(hrefsOf(await at('https://replicas:8000').find())).toEqual(['https://replicas:8000/']);
    expect(hrefsOf(await at('http://[fd00::9]:80').find())).toEqual(['http://[fd00::9]/']);
  });

  test('that does not answer is not waited for', async () => {
    await expect(at('http://silent:8000').find()).rejects.toThrow('does not answer');
  });

  test('that fails leaves other directories', async () => {
    const failures: unknown[] = [];
    const all = new Directories([at('http://nobody:1'), at('http://a.replicas:8000')], (error) =>
      failures.push(error),
    );
    expect(hrefsOf(await all.find())).toEqual(['http://10.0.0.1:8000/']);
    expect(failures).toHaveLength(1);
  });
});

describe('Redis', needs(REDIS), () => {
  const key = new ResumeKey('a secret of all replicas');
  const closing: (() => Promise<void> | void)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close();
  });

  async function open(): Promise<RedisLink> {
    const redis = await RedisServer.start();
    closing.push(() => redis.kill());
    return linkTo(redis);
  }

  async function linkTo({ url }: RedisServer): Promise<RedisLink> {
    const link = new RedisLink(url, { timeoutMs: 5000 });
    closing.push(() => link.close());
    await expect.poll(() => link.isUp).toBe(true);
    return link;
  }

  function enter(link: RedisLink, url: string, as = key, goodForMs?: number): RedisDirectory {
    const directory = new RedisDirectory(link, as, goodForMs === undefined ? {} : { goodForMs });
    const reached = new URL(url);
    directory.enter({ bound: reached, reached });
    closing.push(() => directory.leave());
    return directory;
  }

  test('has those that tell of themselves, but for the one that asks', async () => {
    const link = await open();
    const one = enter(link, 'http://10.0.0.1:8000');
    const two = enter(link, 'http://10.0.0.2:8000');
    await expect.poll(async () => hrefsOf(await one.find())).toEqual(['http://10.0.0.2:8000/']);
    await expect.poll(async () => hrefsOf(await two.find())).toEqual(['http://10.0.0.1:8000/']);
    await two.leave();
    expect(await one.find()).toEqual([]);
  });

  test('forgets who is gone, and knows who keeps telling', async () => {
    const link = await open();
    const asking = new RedisDirectory(link, key);
    const gone = enter(link, 'http://10.0.0.1:8000', key, 300);
    await expect.poll(async () => (await asking.find()).length).toBe(1);
    await sleep(600);
    // Told again meanwhile, if only just now.
    await expect.poll(async () => (await asking.find()).length).toBe(1);
    const sealed = key.seal('replica', JSON.stringify({ url: 'http://10.0.0.9:1', expires: 1 }));
    await link.run((client) => client.hset('chairlift:replicas:1', 'old', sealed));
    await expect.poll(async () => hrefsOf(await asking.find())).toEqual(['http://10.0.0.1:8000/']);
    await expect.poll(() => link.run((client) => client.hlen('chairlift:replicas:1'))).toBe(1);
    await gone.leave();
  });

  test('can be written to by others, who name nobody so', async () => {
    const link = await open();
    const asking = new RedisDirectory(link, key);
    enter(link, 'http://evil.example:1', new ResumeKey('a secret of somebody else'));
    const replay = key.seal(
      'resume',
      JSON.stringify({ url: 'http://evil.example:2', expires: 9e15 }),
    );
    const file = key.seal('replica', JSON.stringify({ url: 'file:///etc/passwd', expires: 9e15 }));
    await link.run((client) =>
      client.hset('chairlift:replicas:1', 'a', 'http://evil.example:3', 'b', replay, 'c', file),
    );
    expect(await asking.find()).toEqual([]);
  });

  test('that is full of them is not read whole', async () => {
    const link = await open();
    const asking = new RedisDirectory(link, key);
    const entries = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`id${at}`, 'x']));
    await link.run((client) => client.hset('chairlift:replicas:1', entries), 5000);
    expect(await asking.find()).toEqual([]);
    // Entries that were seen to be nobody's are gone.
    await expect
      .poll(() => link.run((client) => client.hlen('chairlift:replicas:1')))
      .toBe(5000 - 64);
  });

  test('that is gone leaves nobody, and is told again when it is back', async () => {
    const redis = await RedisServer.start();
    closing.push(() => redis.kill());
    const link = await linkTo(redis);
    const asking = new RedisDirectory(link, key);
    enter(link, 'http://10.0.0.1:8000', key, 600);
    await expect.poll(async () => (await asking.find()).length).toBe(1);
    await redis.kill();
    await expect.poll(() => link.isUp).toBe(false);
    await expect(asking.find()).rejects.toThrow('Redis');
    await redis.start();
    await expect
      .poll(async () => (await asking.find().catch(() => [])).length, { timeout: 10_000 })
      .toBe(1);
  }, 20_000);
});
