import type { Candidates } from './candidates.ts';
import { isGreedy } from './greedy.ts';
import { processLogits } from './logit-processors.ts';
import { LogprobsTable } from './logprobs.ts';
import type { SamplingParams } from '../request.ts';
import { uniform } from './philox.ts';
import type { Sequence } from '../sequence.ts';
import type { SampledToken, SequenceFailure } from '../step.ts';
import { TokenRanking } from './token-ranking.ts';

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

/**
 * Draws one token per row. Knows nothing of the batch: a row's token is a function of its logits,
 * its parameters, its seed and its position.
 */
export class Sampler {
  readonly #ranking: TokenRanking;
  /** The logits of the row at hand as the model gave them, if it reports log-probabilities; [vocab]. */
  readonly #rawLogits: Float32Array;
  readonly #vocabSize: number;

  constructor(vocabSize: number) {
    this.#vocabSize = vocabSize;
    this.#ranking = new TokenRanking(vocabSize);
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

  /** @returns null where nothing was drawn, or nothing that the vocabulary has: none else leaves */
  #sampleRow({ sequence, logits, candidates }: LogitsRow): SampledToken | null {
    const { logprobs } = sequence.request;
    if (logprobs !== null && !candidates) this.#rawLogits.set(logits);
    if (!candidates) processLogits(logits, sequence);
    const index = this.#pick(sequence, logits, candidates?.restWeight);
    const tokenId = candidates ? (candidates.tokenIds[index] ?? -1) : index;
    if (tokenId < 0 || tokenId >= this.#vocabSize) return null;
    if (logprobs === null || candidates) return withPromptLogprobs({ sequence, tokenId });
    const table = new LogprobsTable(1, logprobs);
    table.set(0, this.#rawLogits, tokenId);
    return withPromptLogprobs({ sequence, tokenId, logprobs: table.toMessage() });
  }

  /** @returns an index into `logits`, or -1 when none of them is a finite number */
  #pick(sequence: Sequence, logits: Float32Array, restWeight = 0): number {
    const { sampling } = sequence.request;
    const best = argmax(logits);
    if (isGreedy(sampling) || best === -1) return best;
    const u = uniform(sampling.seed, sequence.numTokens);
    return this.#draw(logits, best, sampling, u, restWeight);
  }

  /**
   * Walks the kept tokens from the likeliest on until `u` of their total weight is behind. They are
   * kept as vLLM does it: min_p, top_k, then top_p of what these leave.
   * @param restWeight of tokens besides those of `logits`, where top_p alone limits what is kept
   */
  #draw(
    logits: Float32Array,
    best: number,
    { temperature, topK, topP, minP }: SamplingParams,
    u: number,
    restWeight: number,
  ): number {
    const ranking = this.#ranking;
    const listed = ranking.rank(logits, logits[best] ?? 0, temperature);
    let kept = topK === 0 && minP === 0 ? listed + restWeight : listed;
    if (minP > 0) kept = Math.min(kept, ranking.weightOfLikely(minP));
    if (topK > 0 && topK < logits.length) kept = Math.min(kept, ranking.weightOfFirst(topK));
    if (topP < 1) kept = Math.min(kept, ranking.weightReaching(topP * kept));
    return ranking.tokenAt(u * kept);
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
