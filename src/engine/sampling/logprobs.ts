import type { Logprobs } from '../request.ts';

/**
 * Log-probabilities of consecutive positions, filled in one by one. Each is the log-softmax of the
 * logits as the model gave them; a logit that is not a number has probability 0.
 */
export class LogprobsTable implements Logprobs {
  readonly tokenIds: Int32Array;
  readonly logprobs: Float32Array;
  readonly ranks: Int32Array;
  readonly #numTop: number;

  /** @param numTop how many of the likeliest tokens to report besides the token that is there */
  constructor(numPositions: number, numTop: number) {
    this.#numTop = numTop;
    this.tokenIds = new Int32Array(numPositions * (numTop + 1));
    this.logprobs = new Float32Array(numPositions * (numTop + 1));
    this.ranks = new Int32Array(numPositions);
  }

  /**
   * Fills in a position; anew if it was filled before.
   * @param logits [vocab]
   * @param tokenId the token that is there
   */
  set(position: number, logits: Float32Array, tokenId: number): void {
    const width = this.#numTop + 1;
    const tokenIds = this.tokenIds.subarray(position * width, (position + 1) * width);
    const logprobs = this.logprobs.subarray(position * width, (position + 1) * width);
    const normalizer = logSumExp(logits);
    tokenIds[0] = tokenId;
    logprobs[0] = numberOr(logits[tokenId], -Infinity);
    this.ranks[position] = rankOf(logits, logprobs[0]);
    findTop(logits, tokenIds.subarray(1), logprobs.subarray(1));
    for (let column = 0; column < width; column++) {
      // Rounding must not make it a probability above 1.
      logprobs[column] = Math.min(0, (logprobs[column] ?? 0) - normalizer);
    }
  }

  /** The plain arrays, to cross a process border. */
  toMessage(): Logprobs {
    return { tokenIds: this.tokenIds, logprobs: this.logprobs, ranks: this.ranks };
  }
}

function logSumExp(logits: Float32Array): number {
  let max = -Infinity;
  for (let id = 0; id < logits.length; id++) {
    const logit = logits[id] ?? 0;
    if (logit > max) max = logit;
  }
  let sum = 0;
  for (let id = 0; id < logits.length; id++) {
    const weight = Math.exp((logits[id] ?? 0) - max);
    if (weight > 0) sum += weight;
  }
  return max + Math.log(sum);
}

/** How many logits are at least `logit`, as vLLM counts ranks. */
function rankOf(logits: Float32Array, logit: number): number {
  let rank = 0;
  for (let id = 0; id < logits.length; id++) if ((logits[id] ?? 0) >= logit) rank++;
  return Math.max(1, rank);
}

/**
 * The highest logits in order, the lowest id first among equals, by insertion: few logits of a
 * vocabulary are above the lowest of the best so far.
 */
function findTop(logits: Float32Array, topIds: Int32Array, topLogits: Float32Array): void {
  const last = topIds.length - 1;
  if (last === -1) return;
  topIds.fill(-1);
  topLogits.fill(-Infinity);
  let numFound = 0;
  for (let id = 0; id < logits.length; id++) {
    // NaN is not above the last of them either.
    if (numFound > last && !((logits[id] ?? 0) > (topLogits[last] ?? 0))) continue;
    const logit = numberOr(logits[id], -Infinity);
    let place = Math.min(numFound, last);
    while (place > 0 && (topLogits[place - 1] ?? 0) < logit) {
      topLogits[place] = topLogits[place - 1] ?? 0;
      topIds[place] = topIds[place - 1] ?? 0;
      place--;
    }
    topLogits[place] = logit;
    topIds[place] = id;
    numFound++;
  }
}

function numberOr(value: number | undefined, fallback: number): number {
  return value === undefined || Number.isNaN(value) ? fallback : value;
}
