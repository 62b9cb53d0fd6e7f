/** A model in which no layer attends, as a server sets it up: its KV cache has no layers. */
import { afterAll, describe, expect, it } from 'vitest';
import { kvShape } from '../../../src/engine/kv-shape.ts';
import { openEngine } from '../../../src/engine/process/open-engine.ts';
import type { EngineOptions } from '../../../src/engine/process/protocol.ts';
import { bytesOfRow } from '../../../src/engine/states/state-budget.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { HYBRID_FIXTURES } from '../../support/family-text.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const model = await prepareModel(
  { kind: 'folder', path: `${HYBRID_FIXTURES}/mamba2` },
  {
    precision: 'int8',
    nativeKernels: { kvCacheDtype: 'float32' },
    cacheDirectory: cache.path,
  },
);
const rowBytes = bytesOfRow(model.manifest.states ?? []);
const options: EngineOptions = {
  model,
  maxNumSeqs: 4,
  maxModelLen: 2 ** 20,
  maxNumBatchedTokens: 100,
  threads: 1,
  kvCacheMemory: 20 * rowBytes,
  prefixCaching: true,
  targetItlMs: null,
};

function promptOf(length: number, numShared = length): number[] {
  return Array.from({ length }, (_, at) => (at * 7 + (at < numShared ? 0 : 1)) % 64);
}

/** Tokens of a text, and how many of its prompt were found. */
function textOf({ engine }: ReturnType<typeof openEngine>, id: number, prompt: readonly number[]) {
  const promptTokenIds = Int32Array.from(prompt);
  engine.add(engineRequest({ id, promptTokenIds, maxTokens: 8 }));
  const outputs = [];
  while (engine.hasWork) outputs.push(...engine.step());
  return { cached: outputs[0]?.numCachedTokens, tokens: outputs.map(({ tokenId }) => tokenId) };
}

describe('a model without attention', () => {
  it('has positions that take no memory', () => {
    expect(model.manifest.numLayers).toBe(0);
    expect(kvShape(model.manifest, 3, 100)).toMatchObject({ heads: [], capacity: 112 });
  });

  it('gives all of its memory to states, and texts may be as long as is said', () => {
    const opened = openEngine(options);
    expect(opened.info).toMatchObject({
      kvCacheBytes: 20 * rowBytes,
      kvCacheTokens: 8 * 2 ** 20,
      numSlots: 8,
    });
    expect(opened.kvCache).toMatchObject({ maxTokens: 2 ** 20, usage: 0 });
    opened.decoder.release();
  });

  it('runs in what its states take, and not in less', () => {
    const least = { ...options, kvCacheMemory: 8 * rowBytes };
    const opened = openEngine(least);
    expect(opened.info).toMatchObject({ kvCacheBytes: 8 * rowBytes, kvCacheTokens: 8 * 2 ** 20 });
    expect(textOf(opened, 1, promptOf(300)).tokens).toHaveLength(8);
    opened.decoder.release();
    expect(() => openEngine({ ...least, kvCacheMemory: 8 * rowBytes - 1 })).toThrow(
      'bytes are too few for the states of 4 sequences',
    );
  });

  it('begins where another text ended, and where two parted', () => {
    const opened = openEngine(options);
    const first = textOf(opened, 1, promptOf(600));
    expect(first.cached).toBe(0);
    const nextTurn = [...promptOf(600), ...first.tokens, 1, 2, 3];
    expect(textOf(opened, 2, nextTurn).cached).toBe(592);
    expect(textOf(opened, 3, promptOf(620, 550)).cached).toBe(0);
    expect(textOf(opened, 4, [...promptOf(550), 5, 6, 7]).cached).toBe(544);
    const alone = openEngine({ ...options, prefixCaching: false });
    expect(textOf(alone, 5, nextTurn).tokens).toEqual(textOf(opened, 6, nextTurn).tokens);
    alone.decoder.release();
    opened.decoder.release();
  });

  it('is opened with nothing that states do not go with', () => {
    const has = 'mamba2 has layers with states';
    expect(() => openEngine({ ...options, durableKv: true })).toThrow(has);
    const prefixTier = { memoryBytes: 2 ** 20, folder: null };
    expect(() => openEngine({ ...options, prefixTier })).toThrow(has);
    const speculative = { draftModel: model, maxTokens: 4 };
    expect(() => openEngine({ ...options, speculative })).toThrow('a draft model can have no');
  });
});
