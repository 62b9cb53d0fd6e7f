import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type PageRanges,
  intersect,
  subtract,
  union,
} from '../../../src/engine/windows/page-ranges.ts';
import { WindowBudget } from '../../../src/engine/windows/window-budget.ts';

const LENGTH = 24;

const ranges: fc.Arbitrary<PageRanges> = fc
  .array(fc.tuple(fc.nat(LENGTH - 1), fc.integer({ min: 1, max: 6 })), { maxLength: 5 })
  .map((all) => union(all.map(([start, length]) => [start, start + length])));

const has = (all: PageRanges, page: number) =>
  all.some(([start, end]) => page >= start && page < end);

it('ranges of pages are sets', () => {
  fc.assert(
    fc.property(ranges, ranges, (a, b) => {
      for (let page = 0; page < LENGTH + 6; page++) {
        const [inA, inB] = [has(a, page), has(b, page)];
        expect(has(intersect(a, b), page)).toBe(inA && inB);
        expect(has(subtract(a, b), page)).toBe(inA && !inB);
        expect(has(union(a, b), page)).toBe(inA || inB);
      }
      for (const all of [a, intersect(a, b), subtract(a, b), union(a, b)]) {
        expect(all.every(([start, end]) => start < end)).toBe(true);
        expect(all.slice(1).every(([start], index) => start >= (all[index]?.[1] ?? 0))).toBe(true);
      }
    }),
  );
});

const shapes = fc.record({
  window: fc.integer({ min: 1, max: 1024 }),
  width: fc.constant(62),
  windowedWidth: fc.integer({ min: 1, max: 62 }),
  pageLength: fc.constantFrom(16, 32, 256),
  capacity: fc.constantFrom(2048, 8192, 32_768),
  stepTokens: fc.constantFrom(64, 512),
  prefixCaching: fc.boolean(),
});

it('positions are those that their pages pay for', () => {
  fc.assert(
    fc.property(shapes, fc.nat(), (shape, seed) => {
      const budget = new WindowBudget(shape);
      const numTokens = 1 + (seed % shape.capacity);
      const pages = budget.pagesOf(numTokens);
      const positions = budget.positionsOf(pages);
      expect(positions).toBeGreaterThanOrEqual(numTokens);
      expect(positions).toBeLessThanOrEqual(shape.capacity);
      expect(budget.pagesOf(positions)).toBe(pages);
      expect(budget.pagesOf(numTokens + 1)).toBeGreaterThanOrEqual(pages);
    }),
  );
});

it('counts what Gemma 3 27B takes at 32k: its windows, and the layers that keep every token', () => {
  const shape = { window: 1024, width: 62, windowedWidth: 52, pageLength: 16, capacity: 32_768 };
  const budget = new WindowBudget({ ...shape, stepTokens: 512, prefixCaching: false });
  // (1024 + 16 + 512 + 64) / 16 + 2 pages of windows, a share of 10 / 62 beyond.
  expect(budget.pagesOf(32_768)).toBe(103 + Math.ceil(((2048 - 103) * 10) / 62));
  expect(budget.pagesOf(1600)).toBe(100);
});
