import { processLogits } from './logit-processors.ts';
import { LogprobsTable } from './logprobs.ts';
import type { SamplingParams } from './messages.ts';
import { uniform } from './random.ts';
import type { Sequence } from './sequence.ts';
import type { SampledToken, SequenceFailure } from './step-plan.ts';
import { TokenFilter } from './token-filter.ts';

/**
 * The logits from which a sequence's next token is drawn, or, while it scores its prompt, those of
 * the prompt's next token. The sampler may overwrite them.
 */
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
  /** The logits of the row at hand as the model gave them, if it reports log-probabilities; [vocab]. */
  readonly #rawLogits: Float32Array;

  constructor(vocabSize: number) {
    this.#filter = new TokenFilter(vocabSize);
    this.#weights = new Float32Array(vocabSize);
    this.#rawLogits = new Float32Array(vocabSize);
  }

  /** A row whose logits are not numbers fails alone; one that scores its prompt draws nothing. */
  sample(rows: readonly LogitsRow[]): { sampled: SampledToken[]; failures: SequenceFailure[] } {
    const sampled: SampledToken[] = [];
    const failures: SequenceFailure[] = [];
    for (const { sequence, logits } of rows) {
      if (sequence.scoresPrompt) {
        scorePrompt(sequence, logits);
        continue;
      }
      const token = this.#sampleRow(sequence, logits);
      if (token) sampled.push(token);
      else failures.push({ sequence, message: 'the model computed no valid logits' });
    }
    return { sampled, failures };
  }

  #sampleRow(sequence: Sequence, logits: Float32Array): SampledToken | null {
    const { logprobs } = sequence.request;
    if (logprobs === null) {
      const tokenId = this.#sampleToken(sequence, logits);
      return tokenId === -1 ? null : withPromptLogprobs({ sequence, tokenId });
    }
    this.#rawLogits.set(logits);
    const tokenId = this.#sampleToken(sequence, logits);
    if (tokenId === -1) return null;
    const table = new LogprobsTable(1, logprobs);
    table.set(0, this.#rawLogits, tokenId);
    return withPromptLogprobs({ sequence, tokenId, logprobs: table.toMessage() });
  }

  #sampleToken(sequence: Sequence, logits: Float32Array): number {
    const { sampling } = sequence.request;
    processLogits(logits, sequence);
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

/** The logits are those after the last computed token and the one that this step computes. */
function scorePrompt(sequence: Sequence, logits: Float32Array): void {
  const position = sequence.numComputedTokens;
  const [tokenId = -1] = sequence.tokenIds(position + 1, position + 2);
  sequence.promptLogprobs?.set(position, logits, tokenId);
}

/** Adds what the prompt was scored with to its first token. */
function withPromptLogprobs(token: SampledToken): SampledToken {
  const { sequence } = token;
  if (sequence.promptLogprobs === null || sequence.numOutputTokens > 0) return token;
  return { ...token, promptLogprobs: sequence.promptLogprobs.toMessage() };
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
