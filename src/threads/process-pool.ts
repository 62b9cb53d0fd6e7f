import { type ChildEvents, ChildModule } from './child-module.ts';
import { watchMemory } from './memory-watch.ts';
import { yieldCores } from './yield-cores.ts';

/** Milliseconds in which a process that is told to end does so by itself. */
const STOP_MS = 1000;
const MIB = 2 ** 20;

/** Answer of `serveTasks`: errors lose their class between processes. */
export type TaskAnswer<Result> =
  /** A part of the answer; others follow. */
  { readonly type: 'piece'; readonly piece: unknown } | TaskEnd<Result>;

type TaskEnd<Result> =
  | { readonly type: 'done'; readonly result: Result }
  | { readonly type: 'failed'; readonly reason: string };

export interface ProcessPoolOptions {
  /** URL, with the ending `.js`, of a module that calls `serveTasks`. */
  readonly entry: URL;
  /** Milliseconds after which a process without a task is ended. */
  readonly idleMs: number;
  /** Resident megabytes of a process, beyond which it alone ends. */
  readonly maxMb: number;
}

export interface TaskRun {
  readonly signal: AbortSignal;
  /** Told of the pieces that the task sends before its result. */
  readonly onPiece?: ((piece: unknown) => void) | undefined;
  /** Told when the task starts anew: the pieces so far come again. */
  readonly onRestart?: (() => void) | undefined;
}

/** A process ended over its task, and nothing here ended it. */
export class ProcessEndedError extends Error {
  override readonly name = 'ProcessEndedError';
}

/** A process took more memory than it may. */
export class ProcessMemoryError extends Error {
  override readonly name = 'ProcessMemoryError';
}

/**
 * Runs tasks in processes of their own, one task in each at a time: native code may crash there, and what an
 * aborted task does ends with its process. As many start as there are tasks at once.
 */
export class ProcessPool<Task extends object, Result> {
  readonly #options: ProcessPoolOptions;
  readonly #idle = new Map<TaskProcess<Task, Result>, NodeJS.Timeout>();
  readonly #running = new Set<TaskProcess<Task, Result>>();
  #isClosed = false;

  constructor(options: ProcessPoolOptions) {
    this.#options = options;
  }

  /**
   * Runs a task, once more when its process ends: the kernel may have ended it, or another process. A task that
   * ends its process itself does so again.
   * @throws ProcessMemoryError; ProcessEndedError; Error when the task fails; the signal's reason on abort
   */
  async run(task: Task, options: TaskRun): Promise<Result> {
    options.signal.throwIfAborted();
    try {
      return await this.#runIn(this.#takeIdle() ?? this.#start(), task, options);
    } catch (error) {
      if (!(error instanceof ProcessEndedError) || this.#isClosed) throw error;
      options.onRestart?.();
      options.signal.throwIfAborted();
      // Whatever ended that one may have ended those that wait too.
      return await this.#runIn(this.#start(), task, options);
    }
  }

  /** Ends all processes; running tasks fail. */
  async destroy(): Promise<void> {
    this.#isClosed = true;
    const all = [...this.#idle.keys(), ...this.#running];
    for (const timer of this.#idle.values()) clearTimeout(timer);
    this.#idle.clear();
    this.#running.clear();
    await Promise.all(all.map((worker) => worker.stop(STOP_MS)));
  }

  #start(): TaskProcess<Task, Result> {
    return new TaskProcess(this.#options);
  }

  async #runIn(worker: TaskProcess<Task, Result>, task: Task, options: TaskRun): Promise<Result> {
    this.#running.add(worker);
    try {
      return await worker.run(task, options);
    } finally {
      if (this.#running.delete(worker)) this.#keep(worker);
    }
  }

  /** The one that had a task last. */
  #takeIdle(): TaskProcess<Task, Result> | undefined {
    for (const [worker, timer] of [...this.#idle].toReversed()) {
      clearTimeout(timer);
      this.#idle.delete(worker);
      if (worker.isAlive) return worker;
    }
    return undefined;
  }

  #keep(worker: TaskProcess<Task, Result>): void {
    if (!worker.isAlive) return;
    const end = (): void => {
      this.#idle.delete(worker);
      worker.kill();
    };
    this.#idle.set(worker, setTimeout(end, this.#options.idleMs).unref());
  }
}

class TaskProcess<Task extends object, Result> {
  readonly #module: ChildModule<Task, TaskAnswer<Result>>;
  readonly #maxMb: number;
  /** Why it is killed. */
  #cause: unknown;
  #settle: ((answer: TaskEnd<Result> | Error) => void) | undefined;
  #onPiece: TaskRun['onPiece'];
  isAlive = true;

  constructor({ entry, maxMb }: ProcessPoolOptions) {
    this.#maxMb = maxMb;
    const events: ChildEvents<TaskAnswer<Result>> = {
      onMessage: (answer) => {
        if (answer.type === 'piece') this.#onPiece?.(answer.piece);
        else this.#settle?.(answer);
      },
      onExit: (description) => {
        this.isAlive = false;
        this.#settle?.(new ProcessEndedError(`its process ended: ${description}`));
      },
    };
    this.#module = new ChildModule(entry, events);
    yieldCores(this.#module.pid);
  }

  async run(task: Task, { signal, onPiece }: TaskRun): Promise<Result> {
    const answered = new Promise<TaskEnd<Result> | Error>((resolve) => (this.#settle = resolve));
    this.#onPiece = onPiece;
    const abort = (): void => this.#end(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    const unwatch = watchMemory(this.#module.pid, this.#maxMb * MIB, () => {
      this.#end(new ProcessMemoryError(`it takes more than ${this.#maxMb} MB of memory`));
    });
    try {
      this.#module.send(task);
      const answer = await answered;
      if (this.#cause !== undefined) throw this.#cause;
      if (answer instanceof Error) throw answer;
      if (answer.type === 'failed') throw new Error(answer.reason);
      return answer.result;
    } finally {
      this.#settle = undefined;
      this.#onPiece = undefined;
      unwatch();
      signal.removeEventListener('abort', abort);
    }
  }

  kill(): void {
    this.#module.kill();
  }

  async stop(timeoutMs: number): Promise<void> {
    await this.#module.stop(timeoutMs);
  }

  /** The task fails once the process is gone: another would come on top of it. */
  #end(cause: unknown): void {
    this.#cause ??= cause;
    this.kill();
  }
}
