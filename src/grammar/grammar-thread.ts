import type { Worker } from 'node:worker_threads';
import { startThread } from '../threads/start-thread.ts';
import { GrammarError, type GrammarVocabulary } from './grammar-spec.ts';
import type { ThreadAnswer, ThreadCommand } from './thread-messages.ts';

const ENTRY = new URL('./grammar-worker.js', import.meta.url);

/** The thread ended before it got to what it was asked. */
export class GrammarThreadError extends Error {
  override readonly name = 'GrammarThreadError';
}

export interface GrammarThreadOptions {
  readonly vocabulary: GrammarVocabulary;
  /** Time for one grammar to compile. */
  readonly timeoutMs: number;
  /** Called when the thread ended unasked or was ended for taking too long. */
  readonly onEnd: () => void;
}

interface Pending {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** One thread of `grammar-worker.ts`. Keeps the process alive only while it compiles. */
export class GrammarThread {
  readonly #worker: Worker;
  readonly #options: GrammarThreadOptions;
  /** By grammar, in the order in which they are compiled. */
  readonly #pending = new Map<string, Pending>();
  #isReady = false;
  #ended = false;
  /** For the first of the pending. */
  #timer: NodeJS.Timeout | undefined;

  constructor(options: GrammarThreadOptions) {
    this.#options = options;
    this.#worker = startThread(ENTRY, options.vocabulary);
    this.#worker.on('message', (answer: ThreadAnswer) => this.#receive(answer));
    this.#worker.on('error', ({ message }) => this.#end(new GrammarThreadError(message)));
    this.#worker.on('exit', () => this.#end(new GrammarThreadError('the grammar thread ended')));
    this.#worker.unref();
  }

  get ended(): boolean {
    return this.#ended;
  }

  /**
   * @throws GrammarError when the grammar is wrong, or takes longer than the time it has;
   *   GrammarThreadError when the thread ends before it is done.
   */
  compile(ebnf: string): Promise<void> {
    const running = this.#pending.get(ebnf);
    if (running !== undefined) return running.promise;
    let resolve = (): void => {};
    let reject: Pending['reject'] = () => {};
    const promise = new Promise<void>((onResolve, onReject) => {
      resolve = onResolve;
      reject = onReject;
    });
    this.#pending.set(ebnf, { promise, resolve, reject });
    this.#worker.ref();
    if (this.#pending.size === 1) this.#startTimer();
    this.post({ type: 'compile', ebnf });
    return promise;
  }

  post(command: ThreadCommand): void {
    this.#worker.postMessage(command, []);
  }

  /** Ends the thread at once; what it was asked fails. */
  terminate(reason: string): void {
    this.#end(new GrammarThreadError(reason));
    void this.#worker.terminate();
  }

  #receive(answer: ThreadAnswer): void {
    if (answer.type === 'ready') {
      this.#isReady = true;
    } else {
      const pending = this.#pending.get(answer.ebnf);
      this.#pending.delete(answer.ebnf);
      if (answer.error === null) pending?.resolve();
      else pending?.reject(new GrammarError(answer.error));
    }
    this.#startTimer();
  }

  /** Times the first of the pending: the others have to wait for it. */
  #startTimer(): void {
    clearTimeout(this.#timer);
    const [first] = this.#pending.values();
    if (first === undefined) this.#worker.unref();
    if (first === undefined || !this.#isReady) return;
    this.#timer = setTimeout(() => {
      first.reject(new GrammarError('the grammar takes too long to compile'));
      this.terminate('a grammar took too long to compile');
    }, this.#options.timeoutMs);
  }

  #end(error: GrammarThreadError): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    for (const pending of this.#pending.values()) pending.reject(error);
    this.#pending.clear();
    this.#options.onEnd();
  }
}
