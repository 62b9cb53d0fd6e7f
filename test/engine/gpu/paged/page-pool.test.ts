import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { PagePool, type Predecessor } from '../../../../src/engine/gpu/paged/page-pool.ts';

const BLOCK_SIZE = 4;
const tokens = (...values: number[]) => Int32Array.from(values);

/** A sequence as the pool's user sees it: pages in order, and what each of the full ones follows. */
interface Holder {
  readonly salt: string;
  readonly tokenIds: number[];
  readonly pages: number[];
}

type Found = ReturnType<PagePool['find']>;

const operations = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('open' as const),
      salt: fc.constantFrom('', 'tenant'),
      // Two symbols, so that texts share beginnings of all lengths.
      tokenIds: fc.array(fc.integer({ min: 0, max: 1 }), { minLength: 1, maxLength: 16 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('close' as const), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('forget' as const), pick: fc.nat() }) },
);

it('never loses a page, writes to a shared one, or gives another text', () => {
  const seen = { shared: 0, revived: 0, evicted: 0, full: 0 };
  fc.assert(
    fc.property(
      fc.integer({ min: 4, max: 12 }),
      fc.array(operations, { maxLength: 60, size: 'max' }),
      (numPages, script) => {
        const pool = new PagePool(numPages);
        /** Content of each page: all tokens up to its end, and the salt. */
        const content = new Map<number, string>();
        const holders: Holder[] = [];
        const open = ({ salt, tokenIds }: { salt: string; tokenIds: number[] }) => {
          if (Math.ceil(tokenIds.length / BLOCK_SIZE) > pool.numFree) {
            seen.full++;
            return;
          }
          const pages: number[] = [];
          let predecessor: Predecessor | null = salt;
          for (let start = 0; start < tokenIds.length; start += BLOCK_SIZE) {
            const text = tokens(...tokenIds.slice(start, start + BLOCK_SIZE));
            const whole = `${salt}:${tokenIds.slice(0, start + BLOCK_SIZE).join()}`;
            const isFull: boolean = text.length === BLOCK_SIZE && predecessor !== null;
            const found: Found = isFull ? pool.find(predecessor ?? '', text) : null;
            if (found) {
              if (content.get(found.index) !== whole) throw new Error(`not ${whole}`);
              seen[pool.refCount(found.index) > 0 ? 'shared' : 'revived']++;
              pool.share(found.index);
              pages.push(found.index);
              predecessor = found.textId;
              continue;
            }
            const numCached = pool.numCached;
            const page = pool.allocate();
            seen.evicted += numCached - pool.numCached;
            expect(holders.some((holder) => holder.pages.includes(page))).toBe(false);
            expect(pool.refCount(page)).toBe(1);
            content.set(page, whole);
            pages.push(page);
            predecessor = isFull ? pool.register(page, predecessor ?? '', text) : null;
          }
          holders.push({ salt, tokenIds, pages });
        };
        for (const operation of script) {
          if (operation.type === 'open') open(operation);
          if (operation.type === 'close' && holders.length > 0) {
            const [holder] = holders.splice(operation.pick % holders.length, 1);
            for (const page of holder?.pages.toReversed() ?? []) pool.release(page);
          }
          if (operation.type === 'forget') pool.forget(operation.pick % numPages);
          const held = holders.flatMap(({ pages }) => pages);
          for (let page = 0; page < numPages; page++) {
            const count = held.filter((other) => other === page).length;
            expect(pool.refCount(page)).toBe(count);
          }
          expect(pool.numFree).toBe(numPages - new Set(held).size);
          expect(pool.numCached).toBeLessThanOrEqual(pool.numFree);
        }
      },
    ),
    { numRuns: 300 },
  );
  for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(20);
});

it('gives up the text released longest ago first', () => {
  const pool = new PagePool(3);
  for (let value = 0; value < 3; value++) pool.register(pool.allocate(), '', tokens(value));
  for (const page of [1, 0, 2]) pool.release(page);
  pool.share(1);
  pool.release(1);
  expect([pool.allocate(), pool.allocate(), pool.allocate()]).toEqual([0, 2, 1]);
  expect(() => pool.allocate()).toThrow('empty');
});

it('tells equal pages after different texts apart', () => {
  const pool = new PagePool(4);
  const [a, b] = [pool.allocate(), pool.allocate()];
  const textA = pool.register(a, '', tokens(1, 2)) ?? -1;
  const textB = pool.register(b, '', tokens(3, 4)) ?? -1;
  const behindA = pool.allocate();
  pool.register(behindA, textA, tokens(5, 6));
  expect(pool.find(textA, tokens(5, 6))?.index).toBe(behindA);
  expect(pool.find(textB, tokens(5, 6))).toBeNull();
  expect(pool.find('salt', tokens(1, 2))).toBeNull();
  // A second page with the same text leads on to the first one's continuation.
  expect(pool.register(pool.allocate(), '', tokens(1, 2))).toBe(textA);
});

it('refuses what cannot be', () => {
  const pool = new PagePool(1);
  expect(() => pool.release(0)).toThrow('held by nobody');
  expect(() => pool.share(1)).toThrow('no page 1');
});
