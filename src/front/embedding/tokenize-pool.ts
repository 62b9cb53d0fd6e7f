import { LIMITS } from '../../limits.ts';
import type { Caller } from '../caller.ts';
import { FairPool } from '../prompts/fair-pool.ts';
import { charactersOf } from '../prompts/prompt-job.ts';
import { MissingTokenError } from '../text/model-vocabulary.ts';
import {
  type EncodedText,
  type EncoderTokenizer,
  type EncoderTokenizerSource,
  TextTooLongError,
} from './encoder-tokenizer.ts';
import { runTokenizeJob, type TokenizeAnswer, type TokenizeJob } from './tokenize-job.ts';

const ENTRY = new URL('./tokenize-worker.js', import.meta.url);

/** Tokenizes texts for an encoder: few and short ones at once, all others in threads. */
export class TokenizePool {
  readonly #tokenizer: EncoderTokenizer;
  readonly #threads: FairPool<TokenizeJob, TokenizeAnswer>;

  /** @param source of the tokenizer @param maxThreads at least 1 */
  constructor(tokenizer: EncoderTokenizer, source: EncoderTokenizerSource, maxThreads: number) {
    this.#tokenizer = tokenizer;
    this.#threads = new FairPool({
      entry: ENTRY,
      workerData: source,
      maxThreads,
      heapMb: LIMITS.promptThreadMb,
      deadlineMs: LIMITS.promptMs,
      largeCost: LIMITS.promptCharactersInTurn,
    });
  }

  /** @throws TextTooLongError, MissingTokenError, TaskTooCostlyError, TaskError; the signal's reason on abort */
  async run(job: TokenizeJob, caller: Caller): Promise<readonly EncodedText[]> {
    const characters = charactersOf(job.texts);
    const answer =
      characters <= LIMITS.promptCharactersAtOnce
        ? runTokenizeJob(this.#tokenizer, job)
        : await this.#threads.run(job, caller, characters);
    switch (answer.type) {
      case 'done':
        return answer.texts;
      case 'missing-token':
        throw new MissingTokenError(answer.message);
      case 'too-long':
        throw new TextTooLongError(answer.index, answer.numTokens, job.maxTokens);
    }
  }

  /** Ends the threads; what they were asked, and what waits, fails. */
  close(): void {
    this.#threads.close();
  }
}
