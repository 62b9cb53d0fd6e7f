import * as fc from 'fast-check';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { commonLength } from '../../../src/engine/common-length.ts';
import { HEADER_BYTES } from '../../../src/engine/prefix-tier/block-file.ts';
import { TIER_BLOCK } from '../../../src/engine/prefix-tier/block-names.ts';
import { FolderBlocks } from '../../../src/engine/prefix-tier/folder-blocks.ts';
import { MemoryBlocks } from '../../../src/engine/prefix-tier/memory-blocks.ts';
import { PrefixTier } from '../../../src/engine/prefix-tier/prefix-tier.ts';
import { type EngineRequest, PUBLIC_SALT, WARM_UP_SALT } from '../../../src/engine/request.ts';
import { LIMITS } from '../../../src/limits.ts';
import { CheckedEngine } from '../../support/checked-engine.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { FAKE_VOCAB_SIZE, fakeContinuation } from '../../support/fake-decoder.ts';
import { orLong } from '../../support/long-runs.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** The fake decoder's keys and values are the tokens. */
const BLOCK_BYTES = TIER_BLOCK * Int32Array.BYTES_PER_ELEMENT;
const ORIGIN = { model: 'fake' };
/** Reading is always quicker. */
const SLOW = { prefillMs: () => Infinity };

interface Place {
  readonly memoryBlocks?: number;
  readonly folder?: FolderBlocks | null;
  readonly costs?: { readonly prefillMs: () => number };
}

function tierOf({ memoryBlocks = 0, folder = null, costs = SLOW }: Place): PrefixTier {
  const memory = memoryBlocks > 0 ? new MemoryBlocks(memoryBlocks * BLOCK_BYTES) : null;
  return new PrefixTier({ origin: ORIGIN, blockBytes: BLOCK_BYTES, memory, folder, costs });
}

function folderOf(path: string, maxBlocks: number): FolderBlocks {
  const maxBytes = maxBlocks * (BLOCK_BYTES + HEADER_BYTES);
  return new FolderBlocks({ path, maxBytes, maxAgeMs: 3_600_000 }, ORIGIN, BLOCK_BYTES);
}

function engineOf(tier: PrefixTier) {
  return CheckedEngine.withSlots({
    maxNumSeqs: 2,
    capacity: 512,
    spareSlots: 1,
    prefixCaching: true,
    maxNumBatchedTokens: 200,
    tier,
  });
}

const textOf = (length: number, seed: number) =>
  Int32Array.from({ length }, (_, at) => (at * (seed + 3) + ((at * at) >> 3)) % FAKE_VOCAB_SIZE);

/** One request after the other. @returns tokens that were found */
async function serve(tier: PrefixTier, requests: readonly EngineRequest[]): Promise<number[]> {
  const checked = engineOf(tier);
  const found: number[] = [];
  for (const request of requests) {
    await tier.fetch(request);
    checked.engine.add(request);
    checked.runToEnd();
    expect(checked.tokensOf(request.id)).toEqual(fakeContinuation(request));
    found.push(checked.outputs.get(request.id)?.[0]?.numCachedTokens ?? -1);
    await tier.settle();
  }
  return found;
}

const asked = (id: number, length: number, seed: number, cacheSalt = '') =>
  engineRequest({ id, promptTokenIds: textOf(length, seed), maxTokens: 4, cacheSalt });

/** Three other texts, for which all slots are needed. */
const others = (id: number) => [1, 2, 3].map((each) => asked(id + each, 200, 50 + id + each));

describe('a tier in memory', () => {
  it('gives back what slots have lost, and counts it', async () => {
    const tier = tierOf({ memoryBlocks: 64 });
    const found = await serve(tier, [asked(1, 300, 1), ...others(10), asked(2, 310, 1)]);
    // Whole blocks of both, the first text's own answer included.
    expect(found).toEqual([0, 0, 0, 0, 256]);
    const { externalPrefixCacheHits: hits, prefixTierMemoryBlocks: blocks } = tier.stats;
    expect([hits, blocks]).toEqual([256, 4 + 3 * 3]);
  });

  it('has nothing for another salt, and for all what is public', async () => {
    const tier = tierOf({ memoryBlocks: 64 });
    const found = await serve(tier, [
      asked(1, 300, 1, 'a key'),
      asked(2, 300, 2, PUBLIC_SALT),
      ...others(10),
      asked(3, 300, 1, 'another'),
      ...others(20),
      asked(4, 300, 2, 'another'),
      ...others(30),
      asked(5, 300, 1, 'a key'),
    ]);
    expect([found[5], found[9], found[13]]).toEqual([0, 256, 256]);
  });

  it('computes what takes longer to read', async () => {
    const tier = tierOf({ memoryBlocks: 64, costs: { prefillMs: () => 0 } });
    const found = await serve(tier, [asked(1, 300, 1), ...others(10), asked(2, 310, 1)]);
    expect(found.at(-1)).toBe(0);
    expect(tier.stats).toMatchObject({ externalPrefixCacheHits: 0, prefixTierSaved: 13 });
  });

  it('has nothing to do with texts that are there to be computed', async () => {
    const tier = tierOf({ memoryBlocks: 64 });
    expect(await serve(tier, [asked(1, 300, 1, WARM_UP_SALT)])).toEqual([0]);
    expect(tier.stats).toMatchObject({ prefixTierSaved: 0, externalPrefixCacheQueries: 0 });
  });

  it('saves no image, and nothing after it', async () => {
    const tier = tierOf({ memoryBlocks: 64 });
    tier.attach(
      { numSlots: 1, cachedTokenIds: () => tokenIds, longestPrefix: () => null },
      { read: () => new Uint8Array(BLOCK_BYTES) },
    );
    const tokenIds = textOf(400, 1);
    tokenIds[130] = -5;
    tier.save({ tokenIds, salt: '' });
    await tier.settle();
    expect(tier.stats.prefixTierSaved).toBe(2);
  });

  it('keeps to its bounds: texts that wait, and slots that are gone', async () => {
    const tier = tierOf({ memoryBlocks: 2 });
    tier.attach(
      { numSlots: 1, cachedTokenIds: () => null, longestPrefix: () => null },
      { read: () => new Uint8Array(BLOCK_BYTES) },
    );
    for (let seed = 0; seed < LIMITS.prefixTierTexts + 9; seed++) {
      tier.save({ tokenIds: textOf(70, seed), salt: '' });
    }
    await tier.settle();
    expect(tier.stats).toMatchObject({ prefixTierLost: LIMITS.prefixTierTexts + 9 });
    expect(tier.stats).toMatchObject({ prefixTierSaved: 0, prefixTierMemoryBlocks: 0 });
  });

  it('saves nothing of a text from the slot of another', async () => {
    const tier = tierOf({ memoryBlocks: 9 });
    tier.attach(
      // Even of one that is as long, and perhaps the same: its slot may not be filled yet.
      { numSlots: 1, cachedTokenIds: () => textOf(128, 1), longestPrefix: () => null },
      { read: () => new Uint8Array(BLOCK_BYTES) },
    );
    tier.save({ tokenIds: textOf(128, 1), salt: '' });
    await tier.settle();
    expect(tier.stats).toMatchObject({ prefixTierLost: 1, prefixTierSaved: 0 });
  });

  it('forgets a request that is gone while it reads, and after', async () => {
    const path = await temporaryDirectory();
    const tier = tierOf({ folder: folderOf(path, 99) });
    await serve(tier, [asked(1, 300, 1)]);
    engineOf(tier);
    const reading = tier.fetch(asked(7, 310, 1));
    tier.forget(7);
    await reading;
    expect(tier.take(7, 0)).toBeNull();
    await tier.fetch(asked(8, 310, 1));
    expect(tier.take(8, 0)?.length).toBe(256);
    expect(tier.take(8, 0)).toBeNull();
    // Blocks that slots have by now are not loaded; those that they lost meanwhile can't be.
    await tier.fetch(asked(9, 310, 1));
    expect(tier.take(9, 130)).toMatchObject({ start: 128, length: 256 });
    await tier.fetch(asked(9, 310, 1));
    expect(tier.take(9, 256)).toBeNull();
    const texts = {
      numSlots: 0,
      cachedTokenIds: () => null,
      longestPrefix: () => ({ length: 130 }),
    };
    tier.attach(texts, { read: () => new Uint8Array() });
    await tier.fetch(asked(9, 310, 1));
    expect(tier.take(9, 128)).toMatchObject({ start: 128, length: 256 });
    await tier.fetch(asked(9, 310, 1));
    expect(tier.take(9, 127)).toBeNull();
  });
});

describe('random texts of several keys', () => {
  const step = fc.record({
    seed: fc.integer({ min: 0, max: 2 }),
    length: fc.integer({ min: 20, max: 460 }),
    own: fc.integer({ min: 0, max: 3 }),
    salt: fc.constantFrom('', 'a', 'b', PUBLIC_SALT),
    maxTokens: fc.integer({ min: 1, max: 40 }),
    steps: fc.integer({ min: 0, max: 30 }),
    turns: fc.integer({ min: 0, max: 12 }),
    aborts: fc.boolean(),
  });

  it.each([
    ['memory', 12, 0],
    ['a folder', 0, 12],
    ['both', 5, 30],
  ])('have their own bytes, from %s', async (_, memoryBlocks, folderBlocks) => {
    let numHits = 0;
    const property = fc.asyncProperty(
      fc.array(step, { minLength: 8, maxLength: 25 }),
      async (steps) => {
        const path = await temporaryDirectory();
        const folder = folderBlocks > 0 ? folderOf(path, folderBlocks) : null;
        const tier = tierOf({ memoryBlocks, folder });
        const checked = engineOf(tier);
        const requests: EngineRequest[] = [];
        for (const [id, { seed, length, own, salt, maxTokens, ...then }] of steps.entries()) {
          const promptTokenIds = Int32Array.of(...textOf(length, seed), ...textOf(own, 70 + id));
          const request = engineRequest({ id, promptTokenIds, maxTokens, cacheSalt: salt });
          await tier.fetch(request);
          requests.push(request);
          checked.engine.add(request);
          for (let count = 0; count < then.steps && checked.engine.hasWork; count++) {
            checked.step();
            if (count < then.turns) await setImmediate();
          }
          for (let turn = 0; turn < then.turns; turn++) await setImmediate();
          if (then.turns > 6) await tier.settle();
          if (then.aborts) {
            tier.forget(id);
            checked.engine.abort(id);
          }
        }
        checked.runToEnd();
        await tier.settle();
        folder?.close();
        numHits += tier.stats.externalPrefixCacheHits;
        for (const request of requests) {
          const { id, promptTokenIds: own, cacheSalt: salt } = request;
          const tokens = checked.tokensOf(id);
          expect(tokens).toEqual(fakeContinuation(request).slice(0, tokens.length));
          const found = checked.outputs.get(id)?.[0]?.numCachedTokens ?? 0;
          const mayShare = requests.filter((other) => {
            const isEarlier = other.id < id;
            return isEarlier && (other.cacheSalt === salt || other.cacheSalt === PUBLIC_SALT);
          });
          const shared = mayShare.map((other) => {
            const text = [...other.promptTokenIds, ...fakeContinuation(other)];
            return commonLength(own, Int32Array.from(text));
          });
          expect(found).toBeLessThanOrEqual(Math.max(0, ...shared));
        }
      },
    );
    await fc.assert(property, { numRuns: orLong(15, 40) });
    // Each counts a block at least.
    expect(numHits).toBeGreaterThan(0);
  });
});
