import { entropyOf } from './entropy.ts';

/** Intervals of distance in which weights are summed: only one of them is sorted, not the vocabulary. */
const NUM_BUCKETS = 4096;
/** Nats; tokens farther away than this share the last interval. */
const MAX_DISTANCE = 32;
const NEGLIGIBLE_NATS = 40;

/**
 * Keeps the tokens whose surprise, -ln p, is nearest to the entropy: as many as it takes to reach a
 * share of the probability. The logits of the others become -Infinity, in place.
 *
 * Meister et al., "Locally Typical Sampling" (2022); the token that reaches the share is kept, as in
 * Transformers and llama.cpp.
 * @param logits [vocab] @param max the highest of them, a finite number @param share above 0, below 1
 */
export function keepTypical(
  logits: Float32Array,
  max: number,
  temperature: number,
  share: number,
): void {
  const { total, nats } = entropyOf(logits, max, temperature);
  // For a weight of e^x the surprise is ln(total) - x.
  const expected = Math.log(total) - nats;
  const distanceOf = (id: number) => Math.abs(((logits[id] ?? NaN) - max) / temperature - expected);
  const weightOf = (id: number) => Math.exp(((logits[id] ?? NaN) - max) / temperature);
  const scale = NUM_BUCKETS / MAX_DISTANCE;
  const bucketOf = (id: number) => Math.min(NUM_BUCKETS - 1, distanceOf(id) * scale) | 0;

  // Weights of less than that are nothing, even all together.
  const least = max - NEGLIGIBLE_NATS * temperature;
  const sums = new Float64Array(NUM_BUCKETS);
  for (let id = 0; id < logits.length; id++) {
    if (!((logits[id] ?? NaN) >= least)) {
      logits[id] = -Infinity;
      continue;
    }
    const bucket = bucketOf(id);
    sums[bucket] = (sums[bucket] ?? 0) + weightOf(id);
  }
  const limit = share * total;
  let last = 0;
  let reached = sums[0] ?? 0;
  while (reached < limit && last < NUM_BUCKETS - 1) reached += sums[++last] ?? 0;
  reached -= sums[last] ?? 0;

  const within: number[] = [];
  for (let id = 0; id < logits.length; id++) {
    if (logits[id] === -Infinity) continue;
    const bucket = bucketOf(id);
    if (bucket === last) within.push(id);
    else if (bucket > last) logits[id] = -Infinity;
  }
  within.sort((a, b) => distanceOf(a) - distanceOf(b) || a - b);
  for (const id of within) {
    if (reached < limit) reached += weightOf(id);
    else logits[id] = -Infinity;
  }
}
