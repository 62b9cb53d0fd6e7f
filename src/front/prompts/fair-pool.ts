import PQueue from 'p-queue';
import { ProcessMemoryError, type TaskRun } from '../../threads/process-pool.ts';
import { startThreadPool, type ThreadPoolOptions } from '../../threads/thread-pool.ts';
import type { Caller } from '../caller.ts';
import { FairQueue, type FairQueueOptions } from '../queue/fair-queue.ts';
import { reasonOf } from '../../files/system-error.ts';

const OUT_OF_MEMORY = 'ERR_WORKER_OUT_OF_MEMORY';

/**
 * Most tasks are short, and starting a thread takes long: a task may run on this long after its
 * caller left.
 */
const GRACE_MS = 200;

/** A task exceeded a limit of time or memory; the message says which. */
export class TaskTooCostlyError extends Error {
  override readonly name = 'TaskTooCostlyError';
}

/** The thread or process ended, or failed, over its task. */
export class TaskError extends Error {
  override readonly name = 'TaskError';
}

/** Where tasks run, each in a thread or process that has no other meanwhile. */
interface TaskPool<Task, Result> {
  run(task: Task, options: TaskRun): Promise<Result>;
  destroy(): Promise<void>;
}

export interface FairPoolOptions<Task, Result> extends ThreadPoolOptions {
  /** Threads, if left out. */
  readonly startPool?: (options: ThreadPoolOptions) => TaskPool<Task, Result>;
  /** Milliseconds that a task may run; its wait for a thread does not count. */
  readonly deadlineMs: number;
  /** Tasks that cost more are large. */
  readonly largeCost: number;
}

/**
 * Threads, or processes, that clients use in turns. If there are several, one client has all but one at most, so
 * that the next client's task begins at once. Large tasks run one at a time, whosever they are, and each in a
 * thread of its own: it may take hundreds of megabytes, which only the end of a thread gives back.
 *
 * A task that runs too long, or whose caller is gone, ends together with its thread, and another one takes its
 * place.
 */
export class FairPool<Task, Result> {
  readonly #pool: TaskPool<Task, Result>;
  readonly #largePool: TaskPool<Task, Result>;
  readonly #options: FairPoolOptions<Task, Result>;
  readonly #queue: PQueue<FairQueue, FairQueueOptions>;
  readonly #largeOnes = new PQueue({ concurrency: 1, queueClass: FairQueue });
  /** By client, of which there are as many as keys: its tasks that are in the queue or run. */
  readonly #lanes = new Map<string, PQueue>();
  readonly #tasksPerClient: number;
  readonly #closed = new AbortController();
  #nextId = 0;

  constructor(options: FairPoolOptions<Task, Result>) {
    const { maxThreads, startPool = startThreadPool<Task, Result> } = options;
    this.#pool = startPool(options);
    this.#largePool = startPool({ ...options, minThreads: 0, maxThreads: 1, idleMs: 0 });
    this.#options = options;
    this.#queue = new PQueue({ concurrency: maxThreads, queueClass: FairQueue });
    this.#tasksPerClient = Math.max(1, maxThreads - 1);
  }

  /**
   * @param cost of the task, in units of any kind; clients' turns are weighted by it
   * @param pieces told of the pieces of the answer, where processes send such
   * @throws TaskTooCostlyError, TaskError; the signal's reason on abort
   */
  async run(
    task: Task,
    { client, signal: callerSignal }: Caller,
    cost: number,
    pieces?: Pick<TaskRun, 'onPiece' | 'onRestart'>,
  ): Promise<Result> {
    const signal = AbortSignal.any([callerSignal, this.#closed.signal]);
    signal.throwIfAborted();
    // By its id a queue takes an aborted task out.
    const place = { signal, id: String(this.#nextId++), client, cost };
    const isLarge = cost > this.#options.largeCost;
    const [queue, pool] = isLarge ? [this.#largeOnes, this.#largePool] : [this.#queue, this.#pool];
    const inTurn = () => queue.add(() => this.#start(pool, task, { signal, ...pieces }), place);
    // Without keys there is one client, which may have every thread.
    if (client === '') return await inTurn();
    return await this.#laneOf(client).add(inTurn, { signal });
  }

  /** Ends the threads; running and waiting tasks fail. */
  close(): void {
    this.#closed.abort(new TaskError('the server is stopping'));
    for (const pool of [this.#pool, this.#largePool]) void pool.destroy();
  }

  #laneOf(client: string): PQueue {
    const known = this.#lanes.get(client);
    if (known !== undefined) return known;
    const lane = new PQueue({ concurrency: this.#tasksPerClient });
    this.#lanes.set(client, lane);
    return lane;
  }

  async #start(
    pool: TaskPool<Task, Result>,
    task: Task,
    { signal, ...pieces }: TaskRun,
  ): Promise<Result> {
    const { deadlineMs, heapMb } = this.#options;
    const deadline = AbortSignal.timeout(deadlineMs);
    const left = new AbortController();
    const leave = () => setTimeout(() => left.abort(), GRACE_MS).unref();
    signal.addEventListener('abort', leave, { once: true });
    try {
      return await pool.run(task, { signal: AbortSignal.any([left.signal, deadline]), ...pieces });
    } catch (error) {
      signal.throwIfAborted();
      if (deadline.aborted) {
        throw new TaskTooCostlyError(`takes longer than the limit of ${deadlineMs / 1000} s`);
      }
      if (isOutOfMemory(error)) {
        throw new TaskTooCostlyError(`takes more than the limit of ${heapMb} MB of memory`);
      }
      const reason = reasonOf(error);
      throw new TaskError(reason, { cause: error });
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }
}

function isOutOfMemory(error: unknown): boolean {
  if (error instanceof ProcessMemoryError) return true;
  return error instanceof Error && 'code' in error && error.code === OUT_OF_MEMORY;
}
