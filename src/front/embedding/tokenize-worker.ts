/** A thread that tokenizes texts, one job after the other. */
import { workerData } from 'node:worker_threads';
import { EncoderTokenizer, type EncoderTokenizerSource } from './encoder-tokenizer.ts';
import { runTokenizeJob, type TokenizeAnswer, type TokenizeJob } from './tokenize-job.ts';

// Where this fails, so does the thread.
const tokenizer = await EncoderTokenizer.load(workerData as EncoderTokenizerSource);

export default function answer(job: TokenizeJob): TokenizeAnswer {
  return runTokenizeJob(tokenizer, job);
}
