import { type ResourceLimits, Worker } from 'node:worker_threads';
import { moduleEntry, RUNS_FROM_SOURCE } from './module-entry.ts';

/**
 * Starts a module as a thread, from the sources or from the build, whichever this runs from.
 * @param entry URL of the module with the ending `.js`
 * @param workerData what the module finds under that name; a copy
 * @param resourceLimits of its memory
 */
export function startThread(
  entry: URL,
  workerData: unknown,
  resourceLimits: ResourceLimits = {},
): Worker {
  const options = { workerData, resourceLimits };
  if (!RUNS_FROM_SOURCE) return new Worker(entry, options);
  // A thread does not inherit the loader of TypeScript sources.
  const source = moduleEntry(entry).href;
  const script = `import('tsx/esm/api').then(({ register }) => { register(); return import('${source}'); });`;
  return new Worker(script, { eval: true, ...options });
}
