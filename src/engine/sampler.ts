import type { Candidates } from './candidates.ts';
import { processLogits } from './logit-processors.ts';
import { LogprobsTable } from './logprobs.ts';
import type { SamplingParams } from './messages.ts';
import { uniform } from './random.ts';
import type { Sequence } from './sequence.ts';
import type { SampledToken, SequenceFailure } from './step-plan.ts';
import { TokenFilter } from './token-filter.ts';
import { fillTokenWeights } from './token-weights.ts';

/**
 * The logits from which a sequence's next token is drawn, or, while it scores its prompt, those of
 * the prompt's next token. The sampler may overwrite them.
 */
export interface LogitsRow {
  readonly sequence: Sequence;
  /** [vocab], or those of the candidates */
  readonly logits: Float32Array;
  /** Set where these tokens are all that could be drawn. */
  readonly candidates?: Candidates;
}

/** Unnormalised probabilities of the row at hand, and what is kept of them. */
interface Weights {
  readonly weights: Float32Array<ArrayBuffer>;
  readonly filter: TokenFilter;
}

/**
 * Draws one token per row. Knows nothing of the batch: a row's token is a function of its logits,
 * its parameters, its seed and its position.
 */
export class Sampler {
  /** By their number: the vocabulary's, or that of a row's candidates. */
  readonly #weights = new Map<number, Weights>();
  /** The logits of the row at hand as the model gave them, if it reports log-probabilities; [vocab]. */
  readonly #rawLogits: Float32Array;

  constructor(vocabSize: number) {
    this.#rawLogits = new Float32Array(vocabSize);
  }

  /** A row whose logits are not numbers fails alone; one that scores its prompt draws nothing. */
  sample(rows: readonly LogitsRow[]): { sampled: SampledToken[]; failures: SequenceFailure[] } {
    const sampled: SampledToken[] = [];
    const failures: SequenceFailure[] = [];
    for (const row of rows) {
      const { sequence, logits } = row;
      if (sequence.scoresPrompt) {
        scorePrompt(sequence, logits);
        continue;
      }
      const token = this.#sampleRow(row);
      if (token) sampled.push(token);
      else failures.push({ sequence, message: 'the model computed no valid logits' });
    }
    return { sampled, failures };
  }

  #sampleRow({ sequence, logits, candidates }: LogitsRow): SampledToken | null {
    if (candidates) {
      const index = this.#pick(sequence, logits, candidates.restWeight);
      const tokenId = candidates.tokenIds[index];
      return tokenId === undefined ? null : { sequence, tokenId };
    }
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
    processLogits(logits, sequence);
    return this.#pick(sequence, logits);
  }

  /** @returns an index into `logits`, or -1 when none of them is a finite number */
  #pick(sequence: Sequence, logits: Float32Array, restWeight = 0): number {
    const { sampling } = sequence.request;
    const best = argmax(logits);
    if (sampling.temperature === 0 || best === -1) return best;
    const u = uniform(sampling.seed, sequence.numTokens);
    return this.#draw(logits, best, sampling, u, restWeight);
  }

  /**
   * Walks the kept tokens in order of id until `u` of their total weight is behind.
   * @param restWeight of tokens besides those of `logits`, where top_p alone limits what is kept
   */
  #draw(
    logits: Float32Array,
    best: number,
    params: SamplingParams,
    u: number,
    restWeight: number,
  ): number {
    const { weights, filter } = this.#weightsOf(logits.length);
    const { temperature, topK, minP } = params;
    const listed = fillTokenWeights(logits, logits[best] ?? 0, temperature, weights);
    const total = topK === 0 && minP === 0 ? listed + restWeight : listed;
    const target = u * filter.apply(total, params);
    const { leastWeight, lastId } = filter;
    let last = best;
    let behind = 0;
    for (let id = 0; id < weights.length; id++) {
      const weight = weights[id] ?? 0;
      if (weight < leastWeight || (weight === leastWeight && id > lastId)) continue;
      behind += weight;
      if (behind > target) return id;
      last = id;
    }
    // Rounding can leave a crumb behind the last token.
    return last;
  }

  #weightsOf(count: number): Weights {
    let own = this.#weights.get(count);
    if (!own) {
      const weights = new Float32Array(count);
      own = { weights, filter: new TokenFilter(weights) };
      this.#weights.set(count, own);
    }
    return own;
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

/**
 * Eight at a time: past the first few of a vocabulary hardly any is the highest so far.
 * @returns the lowest id of the highest logit, or -1 when no logit is a finite number
 */
export function argmax(logits: Float32Array): number {
  let best = -1;
  let max = -Infinity;
  const { length } = logits;
  for (let start = 0; start < length; start += 8) {
    // Behind the end nothing is above anything.
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
