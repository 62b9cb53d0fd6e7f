/**
 * Eight at a time: past the first few of a vocabulary hardly any is the highest so far.
 * @returns the lowest id of the highest logit, or -1 when no logit is a finite number
 */
export function argmax(logits: Float32Array): number {
  let best = -1;
  let max = -Infinity;
  const { length } = logits;
  for (let start = 0; start < length; start += 8) {
    // After the end nothing is above anything.
    const hasHigher =
      (logits[start] ?? NaN) > max ||
      (logits[start + 1] ?? NaN) > max ||
      (logits[start + 2] ?? NaN) > max ||
      (logits[start + 3] ?? NaN) > max ||
      (logits[start + 4] ?? NaN) > max ||
      (logits[start + 5] ?? NaN) > max ||
      (logits[start + 6] ?? NaN) > max ||
      (logits[start + 7] ?? NaN) > max;
    if (!hasHigher) continue;
    for (let id = start; id < Math.min(start + 8, length); id++) {
      const logit = logits[id] ?? 0;
      if (logit > max) {
        max = logit;
        best = id;
      }
    }
  }
  return max === Infinity ? -1 : best;
}
