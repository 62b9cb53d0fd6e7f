import type { Lockstep } from './lockstep-decoder.ts';
import type { EvalJob, EvalResult } from './eval-messages.ts';
import { runJobs, type TokenJob } from './token-batch.ts';
import { answeringJob, LikelihoodSum, scoringJob } from './token-jobs.ts';

/** Steps of a single sequence that are timed, and as many before them that are not. */
const TIMED_STEPS = 32;

/** Scores a job's texts and answers its prompts; `onProgress` hears how many are done. */
export function measureModel(
  decoder: Lockstep,
  job: Omit<EvalJob, 'model' | 'threads'>,
  onProgress: (done: number) => void,
): Omit<EvalResult, 'loadMs'> {
  const singleStepMs = timeSingleRow(decoder, job);
  const residentBytes = process.memoryUsage.rss();
  const sum = new LikelihoodSum();
  const answers: (readonly number[])[] = job.prompts.map(() => []);
  const fullSteps: number[] = [];
  let batchSize = 0;
  let done = 0;
  const counted = (inner: TokenJob): TokenJob => ({
    firstToken: inner.firstToken,
    next(length, logits) {
      const next = inner.next(length, logits);
      if (next === null) onProgress(++done);
      return next;
    },
  });
  const jobs = [
    ...job.texts.map((tokenIds) => scoringJob(tokenIds, sum)),
    ...job.prompts.map(({ tokenIds, maxTokens }, index) =>
      answeringJob(tokenIds, maxTokens, job.stopTokenIds, (answer) => (answers[index] = answer)),
    ),
  ].map((each) => counted(each));
  runJobs(decoder, job.maxNumSeqs, jobs, (numLive, ms) => {
    if (numLive > batchSize) {
      batchSize = numLive;
      fullSteps.length = 0;
    }
    if (numLive === batchSize) fullSteps.push(ms);
  });
  return {
    residentBytes,
    perplexity: sum.numTokens > 0 ? sum.perplexity : null,
    numScoredTokens: sum.numTokens,
    answers,
    singleStepMs,
    fullStepMs: median(fullSteps),
    batchSize,
  };
}

function timeSingleRow(decoder: Lockstep, { maxModelLen }: Pick<EvalJob, 'maxModelLen'>): number {
  const times: number[] = [];
  const last = Math.min(2 * TIMED_STEPS, maxModelLen - 1);
  const next = (length: number) => (length < last ? 1 : null);
  const job = { firstToken: 1, next };
  runJobs(decoder, 1, [job], (_, ms) => times.push(ms));
  return median(times.slice(-TIMED_STEPS));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
