import { Piscina } from 'piscina';
import { isSource, moduleEntry } from './module-entry.ts';

/** An idle thread beyond the first is ended after this long. */
const IDLE_MS = 60_000;

export interface ThreadPoolOptions {
  /** URL, with the ending `.js`, of a module whose default export takes a task. */
  readonly entry: URL;
  /** Data that the module finds under that name; a copy. */
  readonly workerData: unknown;
  /** Started at once; the others start as they are needed. */
  readonly minThreads?: 0 | 1;
  readonly maxThreads: number;
  /** Milliseconds after which an idle thread is ended; a minute, if left out. */
  readonly idleMs?: number;
  /** Heap of a thread, beyond which it alone ends. */
  readonly heapMb: number;
}

/**
 * Threads of a module, from the sources or from the build, depending on which one is running.
 */
export function startThreadPool<Task, Result>(options: ThreadPoolOptions): Piscina<Task, Result> {
  const { entry, workerData, minThreads = 1, maxThreads, heapMb, idleMs = IDLE_MS } = options;
  const module = moduleEntry(entry);
  const pool = new Piscina<Task, Result>({
    filename: module.href,
    // A thread does not inherit the loader of TypeScript sources. A built one that is ended while it
    // requires a module ends the whole process (Node 20.20); with this off, the pool imports it.
    execArgv: isSource(module)
      ? ['--import', typeScriptLoader()]
      : ['--no-experimental-require-module'],
    workerData,
    minThreads,
    maxThreads,
    idleTimeout: idleMs,
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
  });
  // Errors of a thread that ended without a task are ignored; the next task starts another.
  pool.on('error', () => {});
  return pool;
}

function typeScriptLoader(): string {
  const api = import.meta.resolve('tsx/esm/api');
  return `data:text/javascript,import{register}from${encodeURIComponent(`'${api}'`)};register()`;
}
