import { expect, it } from 'vitest';
import { bucketOf } from '../../../src/model/encoder/relative-buckets.ts';

it('puts distances into buckets as Transformers does', () => {
  const distances = [-700, -128, -90, -64, -23, -8, -7, -1, 0, 1, 7, 8, 12, 23, 45, 90, 91, 700];
  // MPNetEncoder.relative_position_bucket of Transformers 5.24
  const buckets = [15, 15, 14, 14, 11, 8, 7, 1, 0, 17, 23, 24, 25, 27, 28, 30, 31, 31];
  expect(distances.map(bucketOf)).toEqual(buckets);
});
