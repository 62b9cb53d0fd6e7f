import { describe, expect, test } from 'vitest';
import type { Lockstep, RowInput } from '../../src/eval/lockstep-decoder.ts';
import { runJobs } from '../../src/eval/token-batch.ts';
import { answeringJob, LikelihoodSum, scoringJob } from '../../src/eval/token-jobs.ts';

const VOCAB_SIZE = 10;

/**
 * Likes the sum of all tokens so far, modulo 10, by as much as the logit says. Notices a row whose
 * positions do not follow each other.
 */
class SumModel implements Lockstep {
  readonly steps: (readonly RowInput[])[] = [];
  readonly #sums: number[] = [];
  readonly #lengths: number[] = [];
  readonly #logit: number;

  constructor(logit = 5) {
    this.#logit = logit;
  }

  step(inputs: readonly RowInput[]): void {
    this.steps.push(inputs);
    for (const [row, { tokenId, position }] of inputs.entries()) {
      if (position === 0) this.#lengths[row] = this.#sums[row] = 0;
      if (position !== this.#lengths[row]) throw new Error(`row ${row} jumped to ${position}`);
      this.#lengths[row] = position + 1;
      this.#sums[row] = (this.#sums[row] ?? NaN) + tokenId;
    }
  }

  logits(row: number): Float32Array {
    const logits = new Float32Array(VOCAB_SIZE);
    logits[(this.#sums[row] ?? NaN) % VOCAB_SIZE] = this.#logit;
    return logits;
  }
}

function run(model: SumModel, numRows: number, jobs: Parameters<typeof runJobs>[2]): number[] {
  const liveRows: number[] = [];
  runJobs(model, numRows, jobs, (rows) => liveRows.push(rows));
  return liveRows;
}

describe.each([1, 2, 3, 8])('in %i rows', (numRows) => {
  test('answers go on greedily until a stop token or the limit', () => {
    const answers: number[][] = [];
    const prompts = [[1, 2], [3], [5, 5, 4], [1]];
    const jobs = prompts.map((prompt, i) =>
      answeringJob(Int32Array.from(prompt), 4, [9], (answer) => (answers[i] = answer)),
    );
    run(new SumModel(), numRows, jobs);
    // 4 and then 8: 1 + 2 = 3, +3 = 6, +6 = 12, ...; [5, 5, 4] gives 4, 8, 6, 2; none of them is 9.
    expect(answers).toEqual([
      [3, 6, 2, 4],
      [3, 6, 2, 4],
      [4, 8, 6, 2],
      [1, 2, 4, 8],
    ]);
    const stopped: number[][] = [];
    run(new SumModel(), numRows, [
      answeringJob(Int32Array.of(4, 5), 4, [9], (answer) => stopped.push(answer)),
      answeringJob(Int32Array.of(1), 9, [4], (answer) => stopped.push(answer)),
    ]);
    expect(stopped).toEqual([[], [1, 2]]);
  });

  test('perplexity is that of the probabilities of all tokens but the first', () => {
    const sum = new LikelihoodSum();
    // Every token but each first is the one that the model likes, or none is.
    const jobs = [
      [1, 1, 2, 4],
      [1, 0, 0],
    ].map((ids) => scoringJob(Int32Array.from(ids), sum));
    run(new SumModel(3), numRows, jobs);
    const total = Math.exp(3) + VOCAB_SIZE - 1;
    expect(sum.numTokens).toBe(5);
    const expected = 3 * Math.log(total / Math.exp(3)) + 2 * Math.log(total);
    expect(sum.negativeLogLikelihood).toBeCloseTo(expected, 6);
    expect(sum.perplexity).toBeCloseTo(Math.exp(expected / 5), 6);
  });
});

test('a row that is done takes the next job, and no row after the last job is computed', () => {
  const model = new SumModel();
  const sum = new LikelihoodSum();
  const jobs = [3, 5, 2, 2].map((length) => scoringJob(new Int32Array(length).fill(1), sum));
  expect(run(model, 2, jobs)).toEqual([2, 2, 2, 2]);
  expect(sum.numTokens).toBe(2 + 4 + 1 + 1);
  expect(model.steps.map((inputs) => inputs.length)).toEqual([2, 2, 2, 2]);

  const uneven = [1, 4].map((length) => scoringJob(new Int32Array(length + 1).fill(1), sum));
  const rest = new SumModel();
  expect(run(rest, 4, uneven)).toEqual([2, 1, 1, 1]);
  // Row 0 is done first and idles below row 1.
  expect(rest.steps.map((inputs) => inputs.length)).toEqual([2, 2, 2, 2]);
});

test('nothing scored has no perplexity', () => {
  expect(new LikelihoodSum().perplexity).toBeNaN();
});
