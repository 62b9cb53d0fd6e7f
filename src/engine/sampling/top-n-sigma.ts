/**
 * Standard deviation of the logits of a row that are finite numbers: top-n-sigma keeps those within n
 * of them from the highest. Tang et al., "Top-nσ: Not All Logits Are You Need" (2024).
 * @param logits [vocab]
 */
export function sigmaOf(logits: Float32Array): number {
  let count = 0;
  let mean = 0;
  let squares = 0;
  // Welford's method, since logits may be far from 0.
  for (let id = 0; id < logits.length; id++) {
    const logit = logits[id] ?? NaN;
    if (!Number.isFinite(logit)) continue;
    count++;
    const change = logit - mean;
    mean += change / count;
    squares += change * (logit - mean);
  }
  return count === 0 ? 0 : Math.sqrt(squares / count);
}
