import type { Worker } from 'node:worker_threads';
import { startThread } from '../threads/start-thread.ts';
import type { GrammarSource } from './grammar-source.ts';
import { GrammarError, type GrammarVocabulary } from './grammar-spec.ts';
import type { ThreadAnswer, ThreadCommand } from './thread-messages.ts';

const ENTRY = new URL('./grammar-worker.js', import.meta.url);

/** The thread ended before it could answer. */
export class GrammarThreadError extends Error {
  override readonly name = 'GrammarThreadError';
}

export interface GrammarThreadOptions {
  readonly vocabulary: GrammarVocabulary;
  /** Time for one grammar to compile, in milliseconds. */
  readonly timeoutMs: number;
  /** Called when a grammar has been computed for `afterMs`. */
  readonly slow?: { readonly afterMs: number; readonly onSlow: () => void };
  /** Called when the thread ended unexpectedly, or was ended because it took too long. */
  readonly onEnd: () => void;
}

interface Pending {
  readonly resolve: (ebnf: string) => void;
  readonly reject: (error: Error) => void;
}

/** One thread of `grammar-worker.ts`. Keeps the process alive only while it compiles. */
export class GrammarThread {
  readonly #worker: Worker;
  readonly #options: GrammarThreadOptions;
  /** In the order in which they are compiled. */
  readonly #pending = new Map<number, Pending>();
  /** Called as matchers are closed, in this order. */
  readonly #closing: (() => void)[] = [];
  #lastId = 0;
  #memoryBytes = 0;
  #isReady = false;
  #ended = false;
  /** For the first of the pending. */
  #timers: NodeJS.Timeout[] = [];

  constructor(options: GrammarThreadOptions) {
    this.#options = options;
    this.#worker = startThread(ENTRY, options.vocabulary);
    this.#worker.on('message', (answer: ThreadAnswer) => this.#receive(answer));
    this.#worker.on('error', ({ message }) => this.#die(message));
    this.#worker.on('exit', () => this.#die('the grammar thread ended'));
    this.#worker.unref();
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Memory of its WebAssembly, which is freed only when the thread ends. */
  get memoryBytes(): number {
    return this.#memoryBytes;
  }

  /**
   * @returns the grammar in xgrammar's notation
   * @throws GrammarError when the grammar is wrong, takes longer than the time it has, or makes the
   *   thread fail; GrammarThreadError when the thread ends before it is done.
   */
  async compile(source: Pick<GrammarSource, 'form' | 'thought'>): Promise<string> {
    const id = ++this.#lastId;
    // Throws if the source is not plain data; then nothing is pending.
    this.post({ type: 'compile', id, source });
    this.#worker.ref();
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      if (this.#pending.size === 1) this.#startTimers();
    });
  }

  post(command: ThreadCommand): void {
    this.#worker.postMessage(command, []);
  }

  /** Closes a matcher. Resolves once nothing is worked out for it any more, or the thread has ended. */
  async close(id: number): Promise<void> {
    if (this.#ended) return;
    this.post({ type: 'close', id });
    await new Promise<void>((resolve) => this.#closing.push(resolve));
  }

  /** Ends the thread at once; its tasks fail. */
  terminate(reason: string): void {
    this.#end(new GrammarThreadError(reason));
    void this.#worker.terminate();
  }

  #receive(answer: ThreadAnswer): void {
    if (answer.type === 'closed') {
      this.#closing.shift()?.();
      return;
    }
    if (answer.type === 'ready') {
      this.#isReady = true;
    } else {
      const pending = this.#pending.get(answer.id);
      this.#pending.delete(answer.id);
      this.#memoryBytes = answer.memoryBytes;
      if (answer.error === null) pending?.resolve(answer.ebnf);
      else pending?.reject(new GrammarError(answer.error));
    }
    this.#startTimers();
  }

  /** Times the first of the pending: the others have to wait for it. */
  #startTimers(): void {
    this.#timers.forEach(clearTimeout);
    this.#timers = [];
    const [first] = this.#pending.values();
    if (first === undefined) this.#worker.unref();
    if (first === undefined || !this.#isReady) return;
    const { timeoutMs, slow } = this.#options;
    const deadline = setTimeout(() => {
      const seconds = timeoutMs / 1000;
      first.reject(new GrammarError(`the grammar takes longer than ${seconds} s to compile`));
      this.terminate('a grammar took too long to compile');
    }, timeoutMs);
    this.#timers.push(deadline);
    if (slow) this.#timers.push(setTimeout(slow.onSlow, slow.afterMs));
  }

  /** The thread ended unexpectedly: its current task is to blame. */
  #die(reason: string): void {
    const [first] = this.#pending.values();
    if (this.#isReady) first?.reject(new GrammarError(`the grammar can't be compiled: ${reason}`));
    this.#end(new GrammarThreadError(reason));
  }

  #end(error: GrammarThreadError): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#timers.forEach(clearTimeout);
    for (const pending of this.#pending.values()) pending.reject(error);
    this.#pending.clear();
    for (const closed of this.#closing.splice(0)) closed();
    this.#options.onEnd();
  }
}
