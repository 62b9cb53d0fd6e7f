/** A model whose layers have states through real engine processes that are killed, and as a server sets it up. */
import { afterAll, describe, expect, it } from 'vitest';
import { openEngine } from '../../../src/engine/process/open-engine.ts';
import type { EngineOptions } from '../../../src/engine/process/protocol.ts';
import { type EngineRequest, PUBLIC_SALT } from '../../../src/engine/request.ts';
import { EngineClient } from '../../../src/front/engine-process/engine-client.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { longHybrid } from '../../support/hybrid-engine.ts';
import { LINUX, needs } from '../../support/needs.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const never = new AbortController().signal;
const MAX_TOKENS = 40;

const model = await prepareModel(
  { kind: 'folder', path: await longHybrid('lfm2', cache.path) },
  {
    precision: 'int8',
    nativeKernels: { kvCacheDtype: 'int8' },
    cacheDirectory: cache.path,
  },
);
const options: EngineOptions = {
  model,
  maxNumSeqs: 4,
  maxModelLen: 1024,
  maxNumBatchedTokens: 100,
  threads: 1,
  kvCacheMemory: 2 ** 22,
  prefixCaching: true,
  targetItlMs: null,
};

/** The first `numShared` tokens are those of all others. */
function promptOf(length: number, numShared = length, own = 0): Int32Array {
  return Int32Array.from({ length }, (_, at) => (at * 7 + (at < numShared ? 0 : own)) % 64);
}

describe('a model with states', () => {
  it('begins at the last snapshot before texts differ, and where another ended', () => {
    const { engine, decoder, info } = openEngine(options);
    expect(info.kvCacheBytes).toBeLessThanOrEqual(2 ** 22);
    let id = 0;
    const cachedOf = (promptTokenIds: Int32Array) => {
      engine.add(engineRequest({ id: ++id, promptTokenIds, maxTokens: 8 }));
      const outputs = [];
      while (engine.hasWork) outputs.push(...engine.step());
      return { cached: outputs[0]?.numCachedTokens, tokens: outputs.map((each) => each.tokenId) };
    };
    const first = cachedOf(promptOf(600));
    expect(first.cached).toBe(0);
    // Steps end elsewhere, segments at multiples of 64.
    expect(cachedOf(promptOf(620, 550, 1)).cached).toBe(512);
    expect(cachedOf(promptOf(500, 400, 2)).cached).toBe(384);
    const nextTurn = Int32Array.of(...promptOf(600), ...first.tokens, 1, 2, 3);
    // All of the text but its last token, which was never computed, in whole blocks.
    expect(cachedOf(nextTurn).cached).toBe(592);
    // The same again has nothing left to compute after its end: it begins before.
    expect(cachedOf(promptOf(600))).toEqual({ ...first, cached: 576 });
    decoder.release();
  });

  it('begins where a pinned text ends, whoever asks', () => {
    const { engine, decoder } = openEngine(options);
    const pinned = promptOf(150);
    const background = { background: 'pin', cacheSalt: PUBLIC_SALT, maxTokens: 1 } as const;
    engine.add(engineRequest({ id: 1, promptTokenIds: pinned, ...background }));
    while (engine.hasWork) engine.step();
    const told = [2, 3].map((id) => {
      const promptTokenIds = Int32Array.of(...pinned, 50 + id, 5, 6);
      engine.add(engineRequest({ id, promptTokenIds, maxTokens: 1, cacheSalt: `client ${id}` }));
      return engine.step()[0]?.numCachedTokens;
    });
    expect(told).toEqual([144, 144]);
    decoder.release();
  });

  it('is opened with nothing that states do not go with', () => {
    const open = () => openEngine({ ...options, durableKv: true });
    expect(open).toThrow('lfm2 has layers with states, which --durable-kv does not keep');
    expect(() => openEngine({ ...options, kvCacheMemory: 2000 })).toThrow(
      'bytes are too few for the states',
    );
  });

  it('goes on after crashes as it would have without', needs(LINUX), async () => {
    const textOf = async (client: EngineClient, request: EngineRequest) => {
      const text: number[] = [];
      for await (const { tokenIds } of client.generate(request, never)) text.push(...tokenIds);
      return text;
    };
    const requests = [300, 411, 512, 600].map((length, own) => {
      const promptTokenIds = promptOf(length, 280, own);
      const sampling = { temperature: own % 2 === 0 ? 0 : 0.8, seed: 7n };
      return engineRequest({ promptTokenIds, maxTokens: MAX_TOKENS, sampling });
    });
    const client = new EngineClient();
    await client.start(options);
    const expected: number[][] = [];
    for (const [index, request] of requests.entries()) {
      expected.push(await textOf(client, { ...request, cacheSalt: `${index}` }));
    }
    const texts = requests.map((request) => textOf(client, { ...request, cacheSalt: 'shared' }));
    let numTokens = 0;
    const kills = [3, 20];
    let killed: number | undefined;
    // Goes on for far longer than this process may be kept from running: it is to be killed midway.
    const watched = engineRequest({ promptTokenIds: promptOf(40), maxTokens: 900 });
    for await (const { tokenIds } of client.generate(watched, never)) {
      numTokens += tokenIds.length;
      const { pid } = client;
      // Tokens that came with those before the kill say nothing of another process.
      if (numTokens < (kills[0] ?? Infinity) || pid === undefined || pid === killed) continue;
      kills.shift();
      killed = pid;
      process.kill(pid, 'SIGKILL');
    }
    expect(await Promise.all(texts)).toEqual(expected);
    expect(client.numCrashes).toBe(2);
    await client.stop();
  });
});
