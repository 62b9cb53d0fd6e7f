import type { GrammarSource } from '../../grammar/grammar-source.ts';
import type { GrammarVocabulary } from '../../grammar/grammar-spec.ts';
import { GrammarThread } from '../../grammar/grammar-thread.ts';
import { LIMITS } from '../../limits.ts';
import { RoundRobin } from '../../round-robin.ts';
import type { Caller } from '../caller.ts';
import { QueueFullError } from '../queue/admission.ts';

/** A thread that took more is ended when its job is done: WebAssembly gives no memory back. */
const MAX_IDLE_MEMORY_BYTES = LIMITS.grammarMemoryBytes / 4;

export interface GrammarPoolOptions {
  readonly vocabulary: GrammarVocabulary;
  /** Threads, at least 1. */
  readonly size: number;
  /** Milliseconds of computing that a grammar may take. */
  readonly timeoutMs: number;
  /** Milliseconds of computing after which a grammar is a slow one. */
  readonly sliceMs: number;
}

/** The result for a grammar. */
export interface PooledGrammar {
  /** In xgrammar's notation. */
  readonly ebnf: string;
  readonly isSlow: boolean;
}

interface Job {
  readonly source: GrammarSource;
  readonly client: string;
  readonly resolve: (grammar: PooledGrammar) => void;
  readonly reject: (error: unknown) => void;
  /** It has had a slice and was not done. */
  isSlow: boolean;
  isAbandoned: boolean;
  /** Null while it waits. */
  thread: GrammarThread | null;
}

/**
 * A few threads that compile grammars, started as they are needed. Clients take turns, and slow
 * grammars never have all threads. Which are slow is not known beforehand. So a grammar that is not
 * done after a slice either becomes the one slow grammar that may run in its thread, or its thread
 * ends and it starts again when it is its turn among the slow ones. A simple grammar therefore
 * waits for slices, not for slow grammars, even if all requests are one client's.
 */
export class GrammarPool {
  readonly #options: GrammarPoolOptions;
  readonly #maxSlow: number;
  readonly #fresh = new RoundRobin<Job>();
  readonly #slow = new RoundRobin<Job>();
  /** With their jobs; null is idle. */
  readonly #threads = new Map<GrammarThread, Job | null>();
  #isClosed = false;

  constructor(options: GrammarPoolOptions) {
    this.#options = options;
    this.#maxSlow = Math.max(1, options.size - 1);
  }

  /**
   * Grammars that are started again, or compiled at the same time, end soon after their caller is
   * gone.
   * @throws GrammarError, GrammarThreadError, QueueFullError; the signal's reason on abort
   */
  async compile(source: GrammarSource, { client, signal }: Caller): Promise<PooledGrammar> {
    signal.throwIfAborted();
    const numOwn = this.#fresh.sizeOf(client) + this.#slow.sizeOf(client);
    const numWaiting = this.#fresh.size + this.#slow.size;
    if (numOwn >= LIMITS.grammarsWaitingPerClient || numWaiting >= LIMITS.grammarsWaiting) {
      throw new QueueFullError('requests', 1);
    }
    let abort = (): void => {};
    try {
      return await new Promise<PooledGrammar>((resolve, reject) => {
        const state = { isSlow: false, isAbandoned: false, thread: null };
        const job: Job = { source, client, resolve, reject, ...state };
        abort = () => this.#abandon(job, signal.reason);
        signal.addEventListener('abort', abort, { once: true });
        this.#fresh.push(client, job);
        this.#dispatch();
      });
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** Ends the threads; running and waiting tasks fail. */
  close(): void {
    this.#isClosed = true;
    const error = new Error('the server is shutting down');
    for (const line of [this.#fresh, this.#slow]) {
      for (let job = line.shift(); job !== undefined; job = line.shift()) job.reject(error);
    }
    for (const thread of this.#threads.keys()) thread.terminate(error.message);
  }

  #dispatch(): void {
    while (!this.#isClosed) {
      const running = [...this.#threads.values()];
      const numSlow = running.filter((job) => job?.isSlow).length;
      // Slow grammars may hold these threads, and no others.
      const line = numSlow < this.#maxSlow && this.#slow.size > 0 ? this.#slow : this.#fresh;
      const isFull = running.length >= this.#options.size && !running.includes(null);
      if (isFull || line.size === 0) return;
      const job = line.shift();
      if (job !== undefined) void this.#run(job);
    }
  }

  /** Never rejects. */
  async #run(job: Job): Promise<void> {
    let thread: GrammarThread | null = null;
    try {
      thread = this.#idleThread() ?? this.#startThread();
      job.thread = thread;
      this.#threads.set(thread, job);
      const ebnf = await thread.compile(job.source);
      job.resolve({ ebnf, isSlow: job.isSlow });
    } catch (error) {
      // Else it gave way.
      if (job.thread === thread) job.reject(error);
    }
    if (thread === null) return;
    if (!thread.ended && thread.memoryBytes > MAX_IDLE_MEMORY_BYTES) thread.terminate('renewed');
    if (!thread.ended) this.#threads.set(thread, null);
    this.#dispatch();
  }

  #idleThread(): GrammarThread | undefined {
    return [...this.#threads].find(([, job]) => job === null)?.[0];
  }

  #startThread(): GrammarThread {
    const { vocabulary, timeoutMs, sliceMs } = this.#options;
    const thread: GrammarThread = new GrammarThread({
      vocabulary,
      timeoutMs,
      slow: { afterMs: sliceMs, onSlow: () => this.#endSlice(thread) },
      onEnd: () => this.#threads.delete(thread),
    });
    return thread;
  }

  #endSlice(thread: GrammarThread): void {
    const job = this.#threads.get(thread);
    if (!job || job.isSlow) return;
    const others = [...this.#threads.values()].filter((other) => other?.isSlow).length;
    job.isSlow = true;
    if (job.isAbandoned) {
      thread.terminate('the request is gone');
    } else if (others >= this.#maxSlow) {
      job.thread = null;
      this.#slow.push(job.client, job);
      thread.terminate('a slow grammar gave way');
      this.#dispatch();
    }
  }

  /**
   * The caller leaves at once. Its thread is ended only if the grammar is slow, because starting
   * one costs.
   */
  #abandon(job: Job, reason: unknown): void {
    job.reject(reason);
    job.isAbandoned = true;
    this.#fresh.remove(job.client, job);
    this.#slow.remove(job.client, job);
    if (job.isSlow) job.thread?.terminate('the request is gone');
  }
}
