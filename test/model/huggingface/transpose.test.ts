import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { transposeInto } from '../../../src/model/huggingface/transpose.ts';

test('every element lands in its column, and no other is touched', () => {
  const size = fc.integer({ min: 1, max: 70 });
  fc.assert(
    fc.property(size, size, fc.nat(5), fc.nat(5), (rows, columns, before, after) => {
      const source = Float32Array.from({ length: rows * columns }, (_, i) => i + 1);
      const width = before + rows + after;
      const target = new Float32Array(columns * width);
      transposeInto(source, rows, columns, target, width, before);
      const expected = Float32Array.from({ length: target.length }, (_, i) => {
        const row = (i % width) - before;
        const inside = row >= 0 && row < rows;
        return inside ? (source[row * columns + Math.floor(i / width)] ?? 0) : 0;
      });
      expect(target).toEqual(expected);
    }),
    { numRuns: 50 },
  );
});
