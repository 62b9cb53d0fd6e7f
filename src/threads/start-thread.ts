import { Worker } from 'node:worker_threads';

const RUNS_FROM_SOURCE = import.meta.url.endsWith('.ts');

/**
 * Starts a module as a thread, from the sources or from the build, whichever this runs from.
 * @param entry URL of the module with the ending `.js`
 * @param workerData what the module finds under that name; a copy
 */
export function startThread(entry: URL, workerData: unknown): Worker {
  if (!RUNS_FROM_SOURCE) return new Worker(entry, { workerData });
  // A thread does not inherit the loader of TypeScript sources.
  const source = entry.href.replace(/\.js$/, '.ts');
  const script = `import('tsx/esm/api').then(({ register }) => { register(); return import('${source}'); });`;
  return new Worker(script, { eval: true, workerData });
}
