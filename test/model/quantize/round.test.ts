import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { roundHalfUp } from '../../../src/model/quantize/round.ts';

test('rounds as Math.round does, to the last bit of what is rounded', () => {
  const halves = fc.integer({ min: -512, max: 512 }).map((value) => value / 2);
  const near = fc
    .tuple(halves, fc.integer({ min: -4, max: 4 }))
    .map(([half, steps]) => half + steps * 2 ** -54 * Math.max(1, Math.abs(half)));
  fc.assert(
    fc.property(
      fc.oneof(halves, near, fc.double({ min: -300, max: 300, noNaN: true })),
      (value) => {
        // -0 is 0.
        expect(roundHalfUp(value) + 0).toBe(Math.round(value) + 0);
      },
    ),
    { numRuns: 2000 },
  );
  for (const value of [0.5 - 2 ** -54, -0.5, 0.5, -(0.5 - 2 ** -54), NaN, 49 * (1 / 98)]) {
    expect(roundHalfUp(value) + 0).toBe(Math.round(value) + 0);
  }
});
