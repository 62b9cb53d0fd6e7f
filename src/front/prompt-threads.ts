import type { EncodedPrompt, PromptJob } from './prompt-job.ts';
import { PromptThread, PromptThreadError } from './prompt-thread.ts';
import type { TextSource } from './text-model.ts';

interface Task {
  readonly job: PromptJob;
  readonly resolve: (prompts: readonly EncodedPrompt[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A few threads that make prompts, first come, first served. Each has a tokenizer of its own, so all
 * but the first are started only when they are needed. One that dies takes its job with it, and
 * nothing else.
 */
export class PromptThreads {
  readonly #source: TextSource;
  readonly #maxThreads: number;
  readonly #waiting = new Set<Task>();
  #threads: PromptThread[];

  /** @param maxThreads at least 1 */
  constructor(source: TextSource, maxThreads: number) {
    this.#source = source;
    this.#maxThreads = maxThreads;
    this.#threads = [new PromptThread(source)];
  }

  /**
   * @throws ChatTemplateError, PromptThreadError; the signal's reason at once on abort, though a
   *   thread that has begun goes on to the end of the job
   */
  async run(job: PromptJob, signal: AbortSignal): Promise<readonly EncodedPrompt[]> {
    signal.throwIfAborted();
    let abort = (): void => {};
    try {
      return await new Promise<readonly EncodedPrompt[]>((resolve, reject) => {
        const task = { job, resolve, reject };
        abort = () => {
          this.#waiting.delete(task);
          reject(signal.reason);
        };
        signal.addEventListener('abort', abort, { once: true });
        this.#waiting.add(task);
        this.#dispatch();
      });
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** Ends the threads; what they were asked, and what waits, fails. */
  close(): void {
    for (const { reject } of this.#waiting) reject(new PromptThreadError('the server is stopping'));
    this.#waiting.clear();
    for (const thread of this.#threads) thread.terminate();
  }

  #dispatch(): void {
    for (const task of this.#waiting) {
      const thread = this.#freeThread();
      if (thread === undefined) return;
      this.#waiting.delete(task);
      thread
        .run(task.job)
        .then(task.resolve, task.reject)
        .finally(() => this.#dispatch())
        .catch(() => {});
    }
  }

  #freeThread(): PromptThread | undefined {
    this.#threads = this.#threads.filter(({ hasEnded }) => !hasEnded);
    const free = this.#threads.find(({ isBusy }) => !isBusy);
    if (free !== undefined || this.#threads.length === this.#maxThreads) return free;
    const started = new PromptThread(this.#source);
    this.#threads.push(started);
    return started;
  }
}
