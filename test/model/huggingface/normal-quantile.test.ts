import { expect, test } from 'vitest';
import { normalQuantile } from '../../../src/model/huggingface/normal-quantile.ts';

// By SciPy's norm.ppf.
test.each([
  [0.5, 0],
  [0.95, 1.6448536269514722],
  [0.9, 1.2815515655446004],
  [0.05, -1.6448536269514729],
  [0.999, 3.090232306167813],
  [0.9999999, 5.199337582192817],
])('%f of normal numbers are below %f', (share, quantile) => {
  expect(normalQuantile(share)).toBeCloseTo(quantile, 7);
});

test('shares at the ends of their range end', () => {
  expect(normalQuantile(Number.MIN_VALUE)).toBeLessThan(-8);
  expect(normalQuantile(1 - Number.EPSILON / 2)).toBeGreaterThan(8);
});
