import { argmax } from '../engine/sampling/argmax.ts';
import type { TokenJob } from './token-batch.ts';

/** The negative log likelihood of tokens, in nats, summed up. */
export class LikelihoodSum {
  numTokens = 0;
  negativeLogLikelihood = 0;

  /** NaN when nothing was scored. */
  get perplexity(): number {
    return Math.exp(this.negativeLogLikelihood / this.numTokens);
  }
}

/** Adds to `sum` how likely the model finds each token but the first, given those before it. */
export function scoringJob(tokenIds: Int32Array, sum: LikelihoodSum): TokenJob {
  return {
    firstToken: tokenIds[0] ?? 0,
    next(length, logits) {
      const target = tokenIds[length];
      if (target === undefined) return null;
      sum.negativeLogLikelihood += logSumExp(logits) - (logits[target] ?? Number.NaN);
      sum.numTokens += 1;
      // The last token's own logits predict what is not there.
      return length === tokenIds.length - 1 ? null : target;
    },
  };
}

/** Continues a prompt greedily until a stop token, which is left out, or `maxTokens`. */
export function answeringJob(
  prompt: Int32Array,
  maxTokens: number,
  stopTokenIds: readonly number[],
  onAnswer: (tokenIds: number[]) => void,
): TokenJob {
  const answer: number[] = [];
  return {
    firstToken: prompt[0] ?? 0,
    next(length, logits) {
      const given = prompt[length];
      if (given !== undefined) return given;
      const best = argmax(logits);
      if (!stopTokenIds.includes(best)) answer.push(best);
      if (stopTokenIds.includes(best) || answer.length === maxTokens) {
        onAnswer(answer);
        return null;
      }
      return best;
    },
  };
}

function logSumExp(logits: Float32Array): number {
  let max = -Infinity;
  for (let id = 0; id < logits.length; id++) max = Math.max(max, logits[id] ?? 0);
  let sum = 0;
  for (let id = 0; id < logits.length; id++) sum += Math.exp((logits[id] ?? 0) - max);
  return max + Math.log(sum);
}
