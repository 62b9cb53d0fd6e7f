import { GrammarThread } from '../../grammar/grammar-thread.ts';
import type { GrammarVocabulary } from '../../grammar/grammar-spec.ts';
import { LIMITS } from '../../limits.ts';

/** Grammars that a thread is chosen by; it keeps about as many compiled. */
const MAX_REMEMBERED = 64;
/** A thread that took more is ended once nobody uses it: WebAssembly gives no memory back. */
const MAX_IDLE_MEMORY_BYTES = LIMITS.grammarMemoryBytes / 4;

export interface MatchThread {
  readonly grammarThread: GrammarThread;
  /** Grammars it has compiled, or is to compile. */
  readonly grammars: Set<string>;
  /** Its users, by the owners of their grammars. */
  readonly users: Map<object, string>;
}

export interface GrammarThreadsOptions {
  readonly vocabulary: GrammarVocabulary;
  readonly timeoutMs: number;
  /** Called when a thread has ended; it is not used any more. */
  readonly onEnd: (thread: MatchThread) => void;
}

/**
 * The threads that match texts to grammars, and who uses which. While a thread compiles or works
 * out a slow mask, its other texts wait. So owners get different threads where there are enough,
 * and no owner gets all of them.
 */
export class GrammarThreads {
  readonly #options: GrammarThreadsOptions;
  #threads: MatchThread[] = [];

  constructor(options: GrammarThreadsOptions) {
    this.#options = options;
  }

  /** The thread for a grammar of the owner's; `user` holds it until `leave`. */
  enter(user: object, ebnf: string, owner: string): MatchThread {
    const thread = this.#choose(ebnf, owner);
    thread.users.set(user, owner);
    thread.grammars.add(ebnf);
    for (const oldest of thread.grammars) {
      if (thread.grammars.size <= MAX_REMEMBERED) break;
      thread.grammars.delete(oldest);
    }
    return thread;
  }

  leave(user: object, { users, grammarThread }: MatchThread): void {
    users.delete(user);
    const isTooLarge = grammarThread.memoryBytes > MAX_IDLE_MEMORY_BYTES;
    if (users.size === 0 && isTooLarge) grammarThread.terminate('the thread is renewed');
  }

  terminateAll(reason: string): void {
    for (const { grammarThread } of this.#threads) grammarThread.terminate(reason);
  }

  #choose(ebnf: string, owner: string): MatchThread {
    const byLoad = this.#threads.toSorted((a, b) => a.users.size - b.users.size);
    const isOwn = ({ users }: MatchThread) => [...users.values()].every((other) => other === owner);
    const own = byLoad.filter(isOwn);
    const known = own.find(({ grammars }) => grammars.has(ebnf));
    if (known !== undefined) return known;
    const numUsed = own.filter(({ users }) => users.size > 0).length;
    if (numUsed < LIMITS.grammarMatchThreads - 1) {
      const idle = own.find(({ users }) => users.size === 0);
      if (idle !== undefined) return idle;
      if (this.#threads.length < LIMITS.grammarMatchThreads) return this.#start();
    }
    return own.find(({ users }) => users.size > 0) ?? byLoad[0] ?? this.#start();
  }

  #start(): MatchThread {
    const { vocabulary, timeoutMs, onEnd } = this.#options;
    const thread: MatchThread = {
      grammarThread: new GrammarThread({
        vocabulary,
        timeoutMs,
        onEnd: () => {
          this.#threads = this.#threads.filter((other) => other !== thread);
          onEnd(thread);
        },
      }),
      grammars: new Set(),
      users: new Map(),
    };
    this.#threads.push(thread);
    return thread;
  }
}
