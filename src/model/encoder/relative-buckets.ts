/** Distances of two tokens that share a bias, as T5 and MPNet count them. */

export const BUCKETS = 32;
/** From here on all distances share one. */
const FURTHEST = 128;

/** @param distance place of the key less that of the query */
export function bucketOf(distance: number): number {
  const half = BUCKETS / 2;
  const exact = half / 2;
  const far = Math.abs(distance);
  const side = distance > 0 ? half : 0;
  if (far < exact) return side + far;
  // In float32, where Transformers computes it: a border may fall on either side.
  const share = Math.fround(Math.log(Math.fround(far / exact))) / Math.log(FURTHEST / exact);
  const large = exact + Math.trunc(Math.fround(Math.fround(share) * (half - exact)));
  return side + Math.min(large, half - 1);
}
