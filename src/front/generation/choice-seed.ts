const BITS = 64;

/**
 * The seed of one of several choices of a request: a function of (seed, index) alone. The first
 * choice keeps the request's seed, so its text is what the request would get alone. The others'
 * seeds are far from it: otherwise the second choice of seed 1 would be the first of seed 2.
 *
 * The mixing function of SplitMix64: Steele et al., "Fast splittable pseudorandom number generators"
 * (OOPSLA '14).
 */
export function choiceSeed(seed: bigint, index: number): bigint {
  if (index === 0) return seed;
  let z = BigInt.asUintN(BITS, seed + BigInt(index) * 0x9e3779b97f4a7c15n);
  z = BigInt.asUintN(BITS, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = BigInt.asUintN(BITS, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}
