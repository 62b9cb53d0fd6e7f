/**
 * Counter-based randomness: a number is a function of (seed, position) alone, so a sequence draws
 * the same numbers in every batch and slot, and after preemption and restarts.
 *
 * Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC '11).
 */

const MULTIPLIERS = [0xd2511f53, 0xcd9e8d57] as const;
const WEYL = [0x9e3779b9, 0xbb67ae85] as const;

/** @returns four random 32-bit words for a 128-bit counter and a 64-bit key */
export function philox4x32(
  counter: readonly [number, number, number, number],
  key: readonly [number, number],
): [number, number, number, number] {
  let [c0, c1, c2, c3] = counter;
  let [k0, k1] = key;
  for (let round = 0; round < 10; round++) {
    const high0 = multiplyHigh(MULTIPLIERS[0], c0);
    const low0 = Math.imul(MULTIPLIERS[0], c0);
    const high1 = multiplyHigh(MULTIPLIERS[1], c2);
    const low1 = Math.imul(MULTIPLIERS[1], c2);
    [c0, c1, c2, c3] = [high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0];
    k0 = (k0 + WEYL[0]) | 0;
    k1 = (k1 + WEYL[1]) | 0;
  }
  return [c0 >>> 0, c1 >>> 0, c2 >>> 0, c3 >>> 0];
}

/**
 * @param seed 64 bits @param position of the token
 * @param stream tells apart the numbers that are drawn for one token
 * @returns a number in [0, 1) with 53 random bits
 */
export function uniform(seed: bigint, position: number, stream = 0): number {
  const key = [Number(seed & 0xffffffffn), Number((seed >> 32n) & 0xffffffffn)] as const;
  const [high, low] = philox4x32([position, stream, 0, 0], key);
  return ((high >>> 5) * 2 ** 26 + (low >>> 6)) / 2 ** 53;
}

/** The high 32 bits of the 64-bit product of two unsigned 32-bit numbers. */
function multiplyHigh(a: number, b: number): number {
  const [aLow, aHigh, bLow, bHigh] = [a & 0xffff, a >>> 16, b & 0xffff, b >>> 16];
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  const carry = (middle & 0xffff) + aLow * bHigh;
  return (aHigh * bHigh + Math.floor(middle / 0x10000) + Math.floor(carry / 0x10000)) | 0;
}
