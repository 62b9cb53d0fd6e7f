import type { SamplingParams } from '../request.ts';
import { argmax } from './argmax.ts';
import { dynamicTemperature } from './dynamic-temperature.ts';
import { uniform } from './philox.ts';
import type { TokenRanking } from './token-ranking.ts';
import { sigmaOf } from './top-n-sigma.ts';
import { keepTypical } from './typical.ts';

/** Width of the rounding errors of a weight, as a share of it. */
const ROUNDING = 1e-8;

/** Smallest share of the kept weight that is drawn after XTC's cut: above what sums are rounded by. */
const LEAST_SHARE = 1e-9;

/**
 * Walks the kept tokens from the likeliest on until a random share of their total weight is passed.
 * They are kept as vLLM does it: min_p, top_k, then top_p of what these leave. llama.cpp's samplers
 * come around these: typical_p before, top_n_sigma, a dynamic temperature and XTC after them.
 * @param logits [vocab] @param best the id of the highest, a finite number
 * @param position of the token in its sequence
 * @param restWeight of tokens besides those of `logits`, where top_p alone limits what is kept
 * @returns an index into `logits`
 */
export function draw(
  ranking: TokenRanking,
  logits: Float32Array,
  best: number,
  sampling: SamplingParams,
  position: number,
  restWeight: number,
): number {
  const { seed, extra = {} } = sampling;
  const { dynamic, xtc, topNSigma, typicalP = 1 } = extra;
  let { temperature } = sampling;
  // As in llama.cpp: which tokens are kept is decided at temperature 1.
  if (dynamic) temperature = 1;
  let max = logits[best] ?? 0;
  const least = topNSigma === undefined ? -Infinity : max - topNSigma * sigmaOf(logits);
  if (typicalP < 1) {
    keepTypical(logits, max, temperature, typicalP);
    max = logits[argmax(logits)] ?? max;
  }
  const listed = ranking.rank(logits, max, temperature);
  const near = least === -Infinity ? listed : weightFrom(ranking, least - max, temperature);
  let kept = keep(ranking, logits.length, sampling, near, restWeight);
  if (dynamic) {
    const last = logits[ranking.tokenAt(kept)] ?? -Infinity;
    temperature = dynamicTemperature(logits, max, last, sampling.temperature, dynamic);
    ranking.rank(logits, max, temperature);
    kept = weightFrom(ranking, last - max, temperature);
  }
  const u = uniform(seed, position);
  if (!xtc || uniform(seed, position, 1) >= xtc.probability) return ranking.tokenAt(u * kept);
  const likely = Math.min(kept, ranking.weightOfLikely(xtc.threshold * kept));
  const cut = ranking.weightBefore(likely);
  return ranking.tokenAt(cut + (cut > 0 ? Math.max(u, LEAST_SHARE) : u) * (kept - cut));
}

/** Weight of the tokens whose logits are at most `below` under the highest; of that one at least. */
function weightFrom(ranking: TokenRanking, below: number, temperature: number): number {
  return ranking.weightOfLikely(Math.min(1, Math.exp(below / temperature)) * (1 - ROUNDING));
}

/** @param listed weight of the tokens to choose from @returns that of those that are kept */
function keep(
  ranking: TokenRanking,
  numTokens: number,
  { topK, topP, minP }: SamplingParams,
  listed: number,
  restWeight: number,
): number {
  let kept = topK === 0 && minP === 0 ? listed + restWeight : listed;
  if (minP > 0) kept = Math.min(kept, ranking.weightOfLikely(minP));
  if (topK > 0 && topK < numTokens) kept = Math.min(kept, ranking.weightOfFirst(topK));
  if (topP < 1) kept = Math.min(kept, ranking.weightReaching(topP * kept));
  return kept;
}
