import type { Worker } from 'node:worker_threads';
import { startThread } from '../threads/start-thread.ts';
import { ChatTemplateError } from './chat-message.ts';
import type { EncodedPrompt, PromptJob } from './prompt-job.ts';
import type { PromptAnswer } from './prompt-worker.ts';
import type { TextSource } from './text-model.ts';

const ENTRY = new URL('./prompt-worker.js', import.meta.url);

/** The thread ended, or failed, over what it was asked. */
export class PromptThreadError extends Error {
  override readonly name = 'PromptThreadError';
}

interface Pending {
  readonly resolve: (prompts: readonly EncodedPrompt[]) => void;
  readonly reject: (error: Error) => void;
}

/** One thread of `prompt-worker.ts`. Keeps the process alive only while it works. */
export class PromptThread {
  readonly #worker: Worker;
  #pending: Pending | null = null;
  #hasEnded = false;

  constructor(source: TextSource) {
    this.#worker = startThread(ENTRY, source);
    this.#worker.on('message', (answer: PromptAnswer) => this.#receive(answer));
    this.#worker.on('error', ({ message }) => this.#end(message));
    this.#worker.on('exit', () => this.#end('the thread ended'));
    this.#worker.unref();
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  get isBusy(): boolean {
    return this.#pending !== null;
  }

  /** Takes one job at a time. @throws ChatTemplateError, PromptThreadError */
  run(job: PromptJob): Promise<readonly EncodedPrompt[]> {
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject };
      this.#worker.ref();
      this.#worker.postMessage(job, []);
    });
  }

  /** Ends the thread at once; what it was asked fails. */
  terminate(): void {
    this.#end('the thread was ended');
    void this.#worker.terminate();
  }

  #receive(answer: PromptAnswer): void {
    const pending = this.#pending;
    this.#pending = null;
    this.#worker.unref();
    if (answer.type === 'done') pending?.resolve(answer.prompts);
    else if (answer.isChatTemplateError) pending?.reject(new ChatTemplateError(answer.message));
    else pending?.reject(new PromptThreadError(answer.message));
  }

  #end(reason: string): void {
    this.#hasEnded = true;
    this.#pending?.reject(new PromptThreadError(`the prompt could not be encoded: ${reason}`));
    this.#pending = null;
  }
}
