import type { SamplingParams } from './messages.ts';
import { applyPenalties } from './penalties.ts';
import { uniform } from './random.ts';
import type { Sequence } from './sequence.ts';
import type { SampledToken, SequenceFailure } from './step-plan.ts';
import { TokenFilter } from './token-filter.ts';

/** The logits from which a sequence's next token is drawn; the sampler may overwrite them. */
export interface LogitsRow {
  readonly sequence: Sequence;
  /** [vocab] */
  readonly logits: Float32Array;
}

/**
 * Draws one token per row. Knows nothing of the batch: a row's token is a function of its logits,
 * its parameters, its seed and its position.
 */
export class Sampler {
  readonly #filter: TokenFilter;
  /** Unnormalised probabilities of the row at hand, [vocab]. */
  readonly #weights: Float32Array;

  constructor(vocabSize: number) {
    this.#filter = new TokenFilter(vocabSize);
    this.#weights = new Float32Array(vocabSize);
  }

  /** A row whose logits are not numbers fails alone. */
  sample(rows: readonly LogitsRow[]): { sampled: SampledToken[]; failures: SequenceFailure[] } {
    const sampled: SampledToken[] = [];
    const failures: SequenceFailure[] = [];
    for (const { sequence, logits } of rows) {
      const tokenId = this.#sampleRow(sequence, logits);
      if (tokenId === -1)
        failures.push({ sequence, message: 'the model computed no valid logits' });
      else sampled.push({ sequence, tokenId });
    }
    return { sampled, failures };
  }

  #sampleRow(sequence: Sequence, logits: Float32Array): number {
    const { sampling, minTokens, stopTokenIds } = sequence.request;
    applyPenalties(logits, sequence);
    if (sequence.numOutputTokens < minTokens) {
      for (const tokenId of stopTokenIds) logits[tokenId] = -Infinity;
    }
    const best = argmax(logits);
    if (sampling.temperature === 0 || best === -1) return best;
    return this.#draw(logits, best, sampling, uniform(sampling.seed, sequence.numTokens));
  }

  /** Walks the kept tokens in order of id until `u` of their total weight is behind. */
  #draw(logits: Float32Array, best: number, params: SamplingParams, u: number): number {
    const weights = this.#weights;
    const max = logits[best] ?? 0;
    const inverseTemperature = 1 / params.temperature;
    for (let id = 0; id < logits.length; id++) {
      const weight = Math.exp(((logits[id] ?? 0) - max) * inverseTemperature);
      // A logit that is not a number must not poison the sums.
      weights[id] = weight > 0 ? weight : 0;
    }
    let rest = u * this.#filter.apply(weights, params);
    let last = best;
    for (let id = 0; id < weights.length; id++) {
      const weight = weights[id] ?? 0;
      if (weight === 0) continue;
      rest -= weight;
      if (rest < 0) return id;
      last = id;
    }
    // Rounding can leave a crumb behind the last token.
    return last;
  }
}

/** @returns the lowest id of the highest logit, or -1 when no logit is a finite number */
export function argmax(logits: Float32Array): number {
  let best = -1;
  let max = -Infinity;
  for (let id = 0; id < logits.length; id++) {
    const logit = logits[id] ?? 0;
    if (logit > max) {
      max = logit;
      best = id;
    }
  }
  return max === Infinity ? -1 : best;
}
