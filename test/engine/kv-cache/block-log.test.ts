/** Messages of the cache about its blocks, read as routers read them, tell what it holds. */

// Not vitest's expect: it is asked in the middle of a script.
import assert from 'node:assert/strict';
import { describe, expect, it } from 'vitest';
import { Random } from '../../../src/bench/random.ts';
import { BlockLog } from '../../../src/engine/kv-cache/block-log.ts';
import type { KvCache } from '../../../src/engine/kv-cache/kv-cache.ts';
import { BLOCK_SIZE } from '../../../src/engine/kv-cache/prefix-index.ts';
import { SlotCache } from '../../../src/engine/kv-cache/slot-cache.ts';
import type { Predecessor } from '../../../src/engine/gpu/paged/page-pool.ts';
import { PagedKvCache } from '../../../src/engine/gpu/paged/paged-kv-cache.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { encodeBatch, wireEvents } from '../../../src/front/kv-events/event-batch.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { unpack } from '../../support/msgpack-reader.ts';

const SALT = 'a client';
/** Token that texts with the salt begin with here, so that a text says whether it has it. */
const SALTED_TOKEN = 9;

/** A router's view, from messages alone. */
class Router {
  /** By the block's name: what it follows, and the whole text up to its end. */
  readonly #blocks = new Map<number, { readonly parent: number | null; readonly text: string }>();
  numStored = 0;
  numRemoved = 0;

  receive(message: Uint8Array): void {
    const [seconds, events, instance] = unpack(message) as [number, unknown[][], number];
    assert.ok(seconds > 1e9);
    assert.equal(instance, 3);
    for (const event of events) {
      if (event[0] === 'BlockStored') this.#store(event);
      else if (event[0] === 'BlockRemoved') this.#remove(event[1] as number[]);
      else throw new Error(`there is no event ${String(event[0])}`);
    }
  }

  /** Texts that it would send a prompt for: every block of them is there. */
  findable(): Set<string> {
    const isThere = (name: number | null): boolean => {
      if (name === null) return true;
      const block = this.#blocks.get(name);
      return block !== undefined && isThere(block.parent);
    };
    const found = [...this.#blocks].filter(([name]) => isThere(name));
    return new Set(found.map(([, { text }]) => text));
  }

  #store(event: unknown[]): void {
    const [, names, parent, tokenIds, blockSize, , , , extraKeys] = event as [
      string,
      number[],
      number | null,
      number[],
      number,
      null,
      string,
      null,
      ([string] | null)[] | null,
    ];
    if (blockSize !== BLOCK_SIZE || tokenIds.length !== names.length * BLOCK_SIZE) {
      throw new Error(`${tokenIds.length} tokens for ${names.length} blocks`);
    }
    const before =
      parent === null ? `${extraKeys?.[0]?.[0] ?? ''}:` : this.#blocks.get(parent)?.text;
    if (before === undefined) throw new Error(`the parent ${parent} was never stored`);
    let text = before;
    let last = parent;
    for (const [index, name] of names.entries()) {
      text += `${tokenIds.slice(index * BLOCK_SIZE, (index + 1) * BLOCK_SIZE).join(' ')},`;
      if (this.#blocks.has(name)) throw new Error(`${name} was stored twice`);
      this.#blocks.set(name, { parent: last, text });
      last = name;
      this.numStored++;
    }
  }

  #remove(names: number[]): void {
    for (const name of names) {
      if (!this.#blocks.delete(name)) throw new Error(`${name} was removed and not there`);
      this.numRemoved++;
    }
  }
}

/** Every text that ends with a full block of these tokens. */
function* prefixes(salt: string, tokenIds: Int32Array, length: number): Generator<string> {
  let text = `${salt}:`;
  for (let end = BLOCK_SIZE; end <= length; end += BLOCK_SIZE) {
    text += `${tokenIds.subarray(end - BLOCK_SIZE, end).join(' ')},`;
    yield text;
  }
}

interface Holdings {
  readonly kvCache: KvCache;
  /** Texts that it really finds, of these sequences or by its own tokens. */
  readonly contents: (sequences: readonly Sequence[]) => Set<string>;
}

/** Requests that share beginnings come, grow, are aborted and end, in a cache that is too small. */
function operate(
  { kvCache, contents }: Holdings,
  log: BlockLog,
  numOperations: number,
  seed: number,
): Router {
  const random = new Random(seed);
  const router = new Router();
  const running: Sequence[] = [];
  const all: Sequence[] = [];
  const roots = Array.from({ length: 4 }, () =>
    Array.from({ length: 80 }, () => random.integer(0, 3)),
  );
  for (let operation = 0; operation < numOperations; operation++) {
    const draw = random.uniform();
    const sequence = running[random.integer(0, Math.max(0, running.length - 1))];
    if (draw < 0.3 || sequence === undefined) {
      const root = roots[random.integer(0, 3)] ?? [];
      const shared = root.slice(0, random.integer(1, 80));
      const own = Array.from({ length: random.integer(0, 20) }, () => random.integer(0, 3));
      const cacheSalt = random.uniform() < 0.7 ? '' : SALT;
      const first = cacheSalt === SALT ? SALTED_TOKEN : 0;
      const request = engineRequest({
        id: operation,
        promptTokenIds: Int32Array.from([first, ...shared, ...own]),
        maxTokens: 100,
        cacheSalt,
      });
      const next = new Sequence(request);
      if (kvCache.reserve(next, running.length)) {
        running.push(next);
        all.push(next);
      }
    } else if (draw < 0.8) {
      // A step: some of the prompt, or the next token.
      const left = sequence.numTokens - sequence.numComputedTokens;
      const length = left > 1 ? random.integer(1, left) : 1;
      if (kvCache.grow(sequence, sequence.numComputedTokens + length)) {
        sequence.numComputedTokens += length;
        kvCache.registerBlocks(sequence);
        if (sequence.numComputedTokens === sequence.numTokens && sequence.numTokens < 150) {
          sequence.append(random.integer(0, 3));
        } else if (sequence.numTokens >= 150) {
          running.splice(running.indexOf(sequence), 1);
          kvCache.release(sequence, true);
        }
      }
    } else {
      running.splice(running.indexOf(sequence), 1);
      kvCache.release(sequence, draw < 0.95);
    }
    if (random.uniform() < 0.2) kvCache.compact();
    kvCache.drainOperations();
    const events = log.drain();
    if (events.length > 0) router.receive(encodeBatch(wireEvents(events, BLOCK_SIZE), 1.7e9, 3));
    if (operation % 50 === 0) assert.deepEqual(router.findable(), contents(all));
  }
  assert.deepEqual(router.findable(), contents(all));
  assert.ok(router.findable().size > 5);
  return router;
}

describe('events of the prefix cache', () => {
  it('say what a cache in slots holds, through 10,000 random operations', () => {
    const log = new BlockLog();
    const kvCache = new SlotCache({ numSlots: 8, capacity: 200, maxPages: 40, blocks: log });
    const contents = () => {
      const all = Array.from({ length: kvCache.numSlots }, (_, slot) => slot).flatMap((slot) => {
        const owner = kvCache.ownerOf(slot);
        if (owner) {
          const { cacheSalt } = owner.request;
          return [...prefixes(cacheSalt, owner.tokenIds(), owner.numComputedTokens)];
        }
        const text = kvCache.cachedTokenIds(slot);
        if (!text) return [];
        return [...prefixes(text[0] === SALTED_TOKEN ? SALT : '', text, text.length)];
      });
      return new Set(all);
    };
    const router = operate({ kvCache, contents }, log, 10_000, 1);
    expect(router.numStored).toBeGreaterThan(1000);
    expect(router.numRemoved).toBeGreaterThan(1000);
  });

  it('say what a cache in pages holds, through 10,000 random operations', () => {
    const log = new BlockLog();
    const options = { numSlots: 8, capacity: 200, numPages: 40, pageLength: BLOCK_SIZE };
    const kvCache = new PagedKvCache({ ...options, blocks: log });
    const contents = (sequences: readonly Sequence[]) => {
      const found = new Set<string>();
      for (const sequence of sequences) {
        const { cacheSalt } = sequence.request;
        let predecessor: Predecessor = cacheSalt;
        const texts = [...prefixes(cacheSalt, sequence.tokenIds(), sequence.numTokens)];
        for (const [index, text] of texts.entries()) {
          const start = index * BLOCK_SIZE;
          const page = kvCache.pool.find(predecessor, sequence.tokenIds(start, start + BLOCK_SIZE));
          if (!page) break;
          found.add(text);
          predecessor = page.textId;
        }
      }
      return found;
    };
    const router = operate({ kvCache, contents }, log, 10_000, 2);
    expect(router.numStored).toBeGreaterThan(1000);
    expect(router.numRemoved).toBeGreaterThan(1000);
  });

  it('put blocks that follow each other into one', () => {
    const log = new BlockLog();
    const block = new Int32Array(BLOCK_SIZE);
    log.stored(1, null, block, '');
    log.stored(2, 1, block, '');
    log.stored(3, null, block, '');
    log.removed([]);
    expect(log.drain()).toMatchObject([{ names: [1, 2] }, { names: [3] }]);
    expect(log.drain()).toEqual([]);
  });
});
