/** Sums over the tokens that may be drawn. */
export interface Entropy {
  readonly count: number;
  /** Sum of e^((logit - max) / temperature). */
  readonly total: number;
  /** In nats. */
  readonly nats: number;
}

/**
 * Shannon entropy of the softmax over the logits from `least` up.
 * @param logits [vocab] @param max the highest of them, a finite number
 */
export function entropyOf(
  logits: Float32Array,
  max: number,
  temperature: number,
  least = -Infinity,
): Entropy {
  let count = 0;
  let total = 0;
  let exponents = 0;
  for (let id = 0; id < logits.length; id++) {
    const logit = logits[id] ?? NaN;
    if (!(logit >= least) || logit === -Infinity) continue;
    const exponent = (logit - max) / temperature;
    const weight = Math.exp(exponent);
    count++;
    total += weight;
    exponents += weight * exponent;
  }
  return { count, total, nats: Math.log(total) - exponents / total };
}
