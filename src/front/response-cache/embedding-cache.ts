/** Vectors of texts and images that were computed before. Each depends on its input alone, and has its own entry. */
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { ANY_ANSWER, type Caller } from '../caller.ts';
import type { Embed, Embeddings, EmbedOptions } from '../embedding/embed-request.ts';
import { placedIn } from '../embedding/encoder-tokenizer.ts';
import { addInTurns } from '../images/file-hash.ts';
import { type CacheCounts, CacheCounter } from './cache-counter.ts';
import { NotCachedError } from '../not-cached-error.ts';
import type { TwoLevelCache } from './two-level-cache.ts';

/** Text, token ids, or the file of an image. */
type CachedInput = string | Int32Array | Uint8Array;

/** Inputs that are looked up at once; other work goes on in between. */
const INPUTS_AT_ONCE = 64;
const COUNT_BYTES = 4;

interface Found {
  readonly vector: Float32Array;
  readonly numTokens: number;
  readonly ageMs: number;
}

export class EmbeddingCache {
  readonly #store: TwoLevelCache;
  readonly #counter: CacheCounter;

  constructor(store: TwoLevelCache) {
    this.#store = store;
    this.#counter = new CacheCounter(store);
  }

  /** Counts texts, not requests. */
  get counts(): CacheCounts {
    return this.#counter.counts;
  }

  /**
   * `embed` for what is not there.
   * @param buildId of the model as it runs: weights, tokenizer, pooling, precision
   */
  over<Input extends CachedInput>(embed: Embed<Input>, buildId: string): Embed<Input> {
    return async (inputs, options, caller) => {
      const { cache: wish = ANY_ANSWER } = caller;
      if (!wish.mayKeep) {
        for (const _ of inputs) this.#counter.bypassed();
        wish.tell?.({ status: 'bypass' });
        return await embed(inputs, options, caller);
      }
      const keys = await keysOf(inputs, options, buildId, caller);
      const found = wish.mayFind ? await this.#find(keys, wish.maxAgeMs) : new Map<string, Found>();
      const missing = new Map(
        keys.flatMap((key, index): [string, number][] => (found.has(key) ? [] : [[key, index]])),
      );
      const ages = Array.from(found.values(), ({ ageMs }) => ageMs);
      wish.tell?.(
        missing.size === 0 ? { status: 'hit', ageMs: Math.max(0, ...ages) } : { status: 'miss' },
      );
      if (missing.size > 0 && wish.onlyFound) throw new NotCachedError();
      await this.#compute(embed, inputs, options, caller, missing, found);
      return assemble(keys, found);
    };
  }

  async #find(keys: readonly string[], maxAgeMs: number | null): Promise<Map<string, Found>> {
    const found = new Map<string, Found>();
    const wanted = [...new Set(keys)];
    for (let start = 0; start < wanted.length; start += INPUTS_AT_ONCE) {
      await Promise.all(
        wanted.slice(start, start + INPUTS_AT_ONCE).map(async (key) => {
          const stored = await this.#store.get(key, maxAgeMs);
          if (stored === null) return;
          this.#counter.hit(stored.level);
          found.set(key, { ...decode(stored.bytes), ageMs: stored.ageMs });
        }),
      );
      await setImmediate();
    }
    return found;
  }

  async #compute<Input extends CachedInput>(
    embed: Embed<Input>,
    inputs: readonly Input[],
    options: EmbedOptions,
    caller: Caller,
    missing: ReadonlyMap<string, number>,
    found: Map<string, Found>,
  ): Promise<void> {
    if (missing.size === 0) return;
    const places = [...missing.values()];
    const computed = places.flatMap((place) => inputs.slice(place, place + 1));
    const { vectors, tokenCounts } = await embed(computed, options, caller).catch(
      (error: unknown) => {
        throw placedIn(places, error);
      },
    );
    for (const [index, key] of [...missing.keys()].entries()) {
      const vector = vectors[index] ?? new Float32Array();
      const numTokens = tokenCounts[index] ?? 0;
      this.#counter.missed();
      this.#store.set(key, encode(vector, numTokens));
      found.set(key, { vector, numTokens, ageMs: 0 });
    }
  }
}

function assemble(keys: readonly string[], found: ReadonlyMap<string, Found>): Embeddings {
  const all = keys.map((key) => {
    const entry = found.get(key);
    if (entry === undefined) throw new Error('a text has no vector');
    return entry;
  });
  const tokenCounts = all.map(({ numTokens }) => numTokens);
  return {
    vectors: all.map(({ vector }) => vector),
    numTokens: tokenCounts.reduce((sum, count) => sum + count, 0),
    tokenCounts,
  };
}

/** Key of each input: a hash of it, its client, the model and the options. */
async function keysOf(
  inputs: readonly CachedInput[],
  { dimensions = null, promptName = null, truncate = false }: EmbedOptions,
  buildId: string,
  { client }: Caller,
): Promise<string[]> {
  const shared = JSON.stringify([buildId, client, dimensions, promptName, truncate]);
  const keys: string[] = [];
  for (const [index, input] of inputs.entries()) {
    const hash = createHash('sha256').update(`embedding ${shared.length} ${shared}`);
    hash.update(`${kindOf(input)} `);
    if (input instanceof Uint8Array) await addInTurns(hash, input);
    else hash.update(input);
    keys.push(hash.digest('base64url'));
    if (index % INPUTS_AT_ONCE === INPUTS_AT_ONCE - 1) await setImmediate();
  }
  return keys;
}

function kindOf(input: CachedInput): string {
  if (typeof input === 'string') return 'text';
  return input instanceof Int32Array ? 'tokens' : 'image';
}

function encode(vector: Float32Array, numTokens: number): Uint8Array {
  const bytes = new Uint8Array(COUNT_BYTES + vector.byteLength);
  new DataView(bytes.buffer).setInt32(0, numTokens, true);
  bytes.set(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength), COUNT_BYTES);
  return bytes;
}

function decode(bytes: Uint8Array): Omit<Found, 'ageMs'> {
  const numTokens = new DataView(bytes.buffer, bytes.byteOffset).getInt32(0, true);
  // A copy: the vector's numbers may lie anywhere in the bytes.
  return { vector: new Float32Array(bytes.slice(COUNT_BYTES).buffer), numTokens };
}
