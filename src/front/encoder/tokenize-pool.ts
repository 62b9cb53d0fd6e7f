import { LIMITS } from '../../limits.ts';
import type { Caller } from '../caller.ts';
import { FairThreads } from '../prompts/fair-threads.ts';
import { charactersOf } from '../prompts/prompt-job.ts';
import { type EncodedText, type EncoderTokenizer, TextTooLongError } from './encoder-tokenizer.ts';
import { runTokenizeJob, type TokenizeAnswer, type TokenizeJob } from './tokenize-job.ts';

const ENTRY = new URL('./tokenize-worker.js', import.meta.url);

/** Tokenizes texts for an encoder: few and short ones at once, all others in threads. */
export class TokenizePool {
  readonly #tokenizer: EncoderTokenizer;
  readonly #threads: FairThreads<TokenizeJob, TokenizeAnswer>;

  /** @param folder of the model @param maxThreads at least 1 */
  constructor(tokenizer: EncoderTokenizer, folder: string, maxThreads: number) {
    this.#tokenizer = tokenizer;
    this.#threads = new FairThreads({
      entry: ENTRY,
      workerData: folder,
      maxThreads,
      heapMb: LIMITS.promptThreadMb,
      deadlineMs: LIMITS.promptMs,
      largeCost: LIMITS.promptCharactersInTurn,
    });
  }

  /** @throws TextTooLongError, TaskTooCostlyError, ThreadError; the signal's reason on abort */
  async run(job: TokenizeJob, caller: Caller): Promise<readonly EncodedText[]> {
    const characters = charactersOf(job.texts);
    const answer =
      characters <= LIMITS.promptCharactersAtOnce
        ? runTokenizeJob(this.#tokenizer, job)
        : await this.#threads.run(job, caller, characters);
    if (answer.type === 'done') return answer.texts;
    throw new TextTooLongError(answer.index, answer.numTokens, job.maxTokens);
  }

  /** Ends the threads; what they were asked, and what waits, fails. */
  close(): void {
    this.#threads.close();
  }
}
