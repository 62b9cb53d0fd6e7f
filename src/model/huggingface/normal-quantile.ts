/** Below this a normal number is with a probability of less than 2^-53. */
const LEAST = -8.3;
const DOUBLE_BITS = 60;

/**
 * Number that a share of normally distributed numbers, of mean 0 and deviation 1, is below.
 * @param share above 0 and below 1
 */
export function normalQuantile(share: number): number {
  let below = LEAST;
  let above = -LEAST;
  for (let bit = 0; bit < DOUBLE_BITS; bit++) {
    const middle = (below + above) / 2;
    if (shareBelow(middle) < share) below = middle;
    else above = middle;
  }
  return (below + above) / 2;
}

/** By the Taylor series of G. Marsaglia, Evaluating the Normal Distribution (doi:10.18637/jss.v011.i04). */
function shareBelow(x: number): number {
  let sum = x;
  let term = x;
  for (let odd = 3; Math.abs(term) > Number.EPSILON * Math.abs(sum); odd += 2) {
    term *= (x * x) / odd;
    sum += term;
  }
  return 0.5 + (sum * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI);
}
