import { LIMITS } from '../../limits.ts';
import type { Caller } from '../caller.ts';
import { ChatTemplateError } from '../templates/chat-message.ts';
import type { ThreadPoolOptions } from '../../threads/thread-pool.ts';
import { FairPool } from './fair-pool.ts';
import {
  charactersOf,
  type EncodedPrompt,
  type PromptJob,
  PromptTooLongError,
} from './prompt-job.ts';
import type { PromptAnswer } from './prompt-worker.ts';
import { MissingTokenError } from '../text/model-vocabulary.ts';
import type { TextSource } from './load-text-model.ts';

const ENTRY = new URL('./prompt-worker.js', import.meta.url);

/** Threads that make prompts. Each has a tokenizer of its own. */
export class PromptPool {
  readonly #threads: FairPool<PromptJob, PromptAnswer>;

  /** @param threads that are there at once, and at most */
  constructor(
    source: TextSource,
    threads: Pick<ThreadPoolOptions, 'minThreads' | 'maxThreads'>,
    deadlineMs: number = LIMITS.promptMs,
  ) {
    this.#threads = new FairPool({
      entry: ENTRY,
      workerData: source,
      ...threads,
      heapMb: LIMITS.promptThreadMb,
      deadlineMs,
      largeCost: LIMITS.promptCharactersInTurn,
    });
  }

  /**
   * @throws ChatTemplateError, MissingTokenError, PromptTooLongError, TaskTooCostlyError, TaskError; the signal's
   *   reason on abort
   */
  async run(job: PromptJob, caller: Caller): Promise<readonly EncodedPrompt[]> {
    const answer = await this.#threads.run(job, caller, charactersOf(job));
    switch (answer.type) {
      case 'done':
        return answer.prompts;
      case 'refused':
        throw new ChatTemplateError(answer.message);
      case 'missing-token':
        throw new MissingTokenError(answer.message);
      case 'too-long':
        throw new PromptTooLongError(answer.numCharacters, answer.minTokens);
    }
  }

  /** Ends the threads; running and waiting tasks fail. */
  close(): void {
    this.#threads.close();
  }
}
