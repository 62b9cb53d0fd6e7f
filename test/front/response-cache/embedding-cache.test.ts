import { expect, test } from 'vitest';
import { ANY_ANSWER, type Caller, type CacheOutcome } from '../../../src/front/caller.ts';
import type { Embed, Embeddings } from '../../../src/front/embedding/embed-request.ts';
import { TextTooLongError } from '../../../src/front/embedding/encoder-tokenizer.ts';
import { EmbeddingCache } from '../../../src/front/response-cache/embedding-cache.ts';
import { NotCachedError } from '../../../src/front/not-cached-error.ts';
import { TwoLevelCache } from '../../../src/front/response-cache/two-level-cache.ts';

const signal = new AbortController().signal;
const caller: Caller = { client: 'a', signal };

/** Vectors that say which text they are of, and when they were computed. */
function setUp() {
  const computed: (readonly string[])[] = [];
  const embed: Embed = async (inputs): Promise<Embeddings> => {
    const texts = inputs.map(String);
    const long = texts.indexOf('long');
    if (long !== -1) throw new TextTooLongError(long, 600, 512);
    computed.push(texts);
    const tokenCounts = texts.map((text) => text.length);
    const numTokens = tokenCounts.reduce((sum, count) => sum + count, 0);
    return {
      vectors: texts.map((text) => Float32Array.of(text.charCodeAt(0), 1 / 3, computed.length)),
      numTokens,
      tokenCounts,
    };
  };
  const store = new TwoLevelCache({ maxBytes: 2 ** 20, maxEntryBytes: 2 ** 20, ttlMs: 60_000 });
  const cache = new EmbeddingCache(store);
  return { cache, computed, cached: cache.over(embed, 'build') };
}

test('computes each text once, in any company', async () => {
  const { cache, computed, cached } = setUp();
  const first = await cached(['one', 'two', 'one'], {}, caller);
  expect(computed).toEqual([['one', 'two']]);
  expect(first.numTokens).toBe(9);
  expect(first.vectors[2]).toEqual(first.vectors[0]);
  const second = await cached(['three', 'two'], {}, caller);
  expect(computed).toEqual([['one', 'two'], ['three']]);
  expect(second.vectors[1]).toEqual(first.vectors[1]);
  expect(second.tokenCounts).toEqual([5, 3]);
  expect(cache.counts).toMatchObject({ misses: 3, hits: { memory: 1, redis: 0 } });
});

test('keeps apart what is asked otherwise, and by another client', async () => {
  const { computed, cached } = setUp();
  await cached(['one'], {}, caller);
  await cached(['one'], { dimensions: 2 }, caller);
  await cached(['one'], { promptName: 'query' }, caller);
  await cached([Int32Array.of(1)], {}, caller);
  await cached(['one'], {}, { ...caller, client: 'b' });
  expect(computed).toHaveLength(5);
  await cached(['one'], { priority: 3 }, caller);
  expect(computed).toHaveLength(5);
});

test('knows an image by its bytes, and for no text', async () => {
  const { cache, computed, cached } = setUp();
  const images: number[] = [];
  const seen = cache.over<Uint8Array>(async (files) => {
    images.push(...files.map(({ length }) => length));
    const vectors = files.map(({ length }) => Float32Array.of(length));
    return { vectors, numTokens: 0, tokenCounts: files.map(() => 0) };
  }, 'build');
  await cached(['one'], {}, caller);
  const large = new Uint8Array(2 ** 20 + 1);
  const changed = large.slice().fill(1, 2 ** 20);
  await seen([Buffer.from('one'), large], {}, caller);
  const again = await seen([changed, Buffer.from('one'), large], {}, caller);
  expect(images).toEqual([3, large.length, large.length]);
  expect(again.vectors.map(([length]) => length)).toEqual([large.length, 3, large.length]);
  expect(computed).toEqual([['one']]);
});

test('does as Cache-Control says', async () => {
  const { computed, cached } = setUp();
  const outcomes: CacheOutcome[] = [];
  const wishing = (wish: Partial<typeof ANY_ANSWER>): Caller => ({
    ...caller,
    cache: { ...ANY_ANSWER, ...wish, tell: (outcome) => void outcomes.push(outcome) },
  });
  await expect(cached(['one'], {}, wishing({ onlyFound: true }))).rejects.toThrow(NotCachedError);
  await cached(['one'], {}, wishing({ mayKeep: false }));
  await cached(['one'], {}, wishing({}));
  await cached(['one'], {}, wishing({ mayFind: false }));
  await cached(['one'], {}, wishing({ onlyFound: true }));
  expect(outcomes.map(({ status }) => status)).toEqual(['miss', 'bypass', 'miss', 'miss', 'hit']);
  expect(computed).toHaveLength(3);
});

test('an error names the place in the request, not among what is missing', async () => {
  const { cached } = setUp();
  await cached(['one', 'two'], {}, caller);
  await expect(cached(['one', 'two', 'long'], {}, caller)).rejects.toMatchObject({ index: 2 });
});
