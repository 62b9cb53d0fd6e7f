/** Real engine processes that share a folder: restarted, killed, and side by side. */
import { readdir } from 'node:fs/promises';
import { afterAll, expect, it } from 'vitest';
import { EngineClient } from '../../../src/front/engine-process/engine-client.ts';
import { buildSummit, processOptions } from '../../support/crashing-engine.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const never = new AbortController().signal;
const model = await buildSummit({ cacheDirectory: cache.path }, ['int8', 'int8', 'native']);
const options = processOptions(model);

async function startedAt(path: string): Promise<EngineClient> {
  const client = new EngineClient();
  const folder = { path, maxBytes: 2 ** 28, maxAgeMs: 3_600_000 };
  await client.start({ ...options, prefixTier: { memoryBytes: 0, folder } });
  return client;
}

/** @returns the tokens of the answer, and how many of the prompt were found */
async function ask(client: EngineClient, seed: number, cacheSalt = '', signal = never) {
  const promptTokenIds = Int32Array.from(
    { length: 700 },
    (_, at) => 9 + ((at * (31 + seed)) % 700),
  );
  const request = engineRequest({ promptTokenIds, maxTokens: 12, cacheSalt });
  const tokens: number[] = [];
  let cached = 0;
  for await (const { tokenIds, numCachedTokens } of client.generate(request, signal)) {
    tokens.push(...tokenIds);
    cached = numCachedTokens ?? cached;
  }
  return { tokens, cached };
}

it('a restart finds what was saved, before the process before it ended', async () => {
  const path = await temporaryDirectory();
  const first = await startedAt(path);
  const { tokens, cached } = await ask(first, 1);
  expect(cached).toBe(0);
  // Blocks on their way to the disk are waited for.
  await first.stop();
  const second = await startedAt(path);
  expect(await ask(second, 1)).toEqual({ tokens, cached: 640 });
  expect(await ask(second, 1, 'a key')).toEqual({ tokens, cached: 0 });
  expect(second.stats).toMatchObject({ externalPrefixCacheHits: 640, prefixTierErrors: 0 });
  // A request that is gone while its blocks are read harms nobody.
  const leaving = new AbortController();
  const left = ask(second, 2, '', leaving.signal).catch(() => null);
  leaving.abort();
  await left;
  await second.stop();
});

it('processes side by side read and write the same folder, also when one is killed', async () => {
  const path = await temporaryDirectory();
  const clients = await Promise.all([startedAt(path), startedAt(path)]);
  const seeds = [1, 2, 3, 4, 5, 6];
  const [ours, theirs] = await Promise.all(
    clients.map(async (client, index) => {
      const answers = new Map<number, number[]>();
      const ordered = index === 0 ? seeds : seeds.toReversed();
      for (const seed of [...ordered, ...ordered]) {
        if (seed === 4 && index === 0 && client.pid !== undefined)
          process.kill(client.pid, 'SIGKILL');
        answers.set(seed, (await ask(client, seed)).tokens);
      }
      return answers;
    }),
  );
  for (const seed of seeds) expect(ours?.get(seed)).toEqual(theirs?.get(seed));
  expect(clients[0]?.numCrashes).toBeGreaterThan(0);
  for (const client of clients) expect(client.stats.prefixTierErrors).toBe(0);
  const hits = clients.reduce((sum, { stats }) => sum + stats.externalPrefixCacheHits, 0);
  expect(hits).toBeGreaterThan(0);
  await Promise.all(clients.map((client) => client.stop()));
  expect((await readdir(path)).some((name) => name.endsWith('.kv'))).toBe(true);
});
