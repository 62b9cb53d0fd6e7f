const MIDDLE = 8;
const LARGEST = 15;

/** Divisors of the scales that are tried, around the one that just reaches the furthest value. */
const FACTORS = [0.88, 0.91, 0.94, 0.97, 1, 1.03, 1.06, 1.09, 1.12];

/**
 * The scale of least squared error for values in 4 bits, as builds find it (quantize-blocks.ts), for blocks
 * of any size: the furthest value goes to the lowest integer, which reaches one further than the highest,
 * or near.
 */
export function scaleOfLeastError(block: Float64Array): number {
  const first = furthest(block) / -MIDDLE;
  if (first === 0) return 0;
  let best = first;
  let bestGain = -Infinity;
  for (const factor of FACTORS) {
    const inverse = factor / first;
    let products = 0;
    let squares = 0;
    for (let i = 0; i < block.length; i++) {
      const value = block[i] ?? 0;
      const rounded = (value * inverse + MIDDLE + 0.5) | 0;
      const integer = Math.min(LARGEST, Math.max(0, rounded)) - MIDDLE;
      products += value * integer;
      squares += integer * integer;
    }
    // For these integers, the scale of least squared error; the error is a constant minus the gain.
    const gain = (products * products) / squares;
    if (gain <= bestGain) continue;
    bestGain = gain;
    best = products / squares;
  }
  return best;
}

/** The value of largest magnitude, with its sign. */
function furthest(block: Float64Array): number {
  let found = 0;
  for (let i = 0; i < block.length; i++) {
    const value = block[i] ?? 0;
    if (Math.abs(value) > Math.abs(found)) found = value;
  }
  return found;
}
