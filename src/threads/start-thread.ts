import { type ResourceLimits, Worker } from 'node:worker_threads';
import { isSource, moduleEntry } from './module-entry.ts';

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
  const module = moduleEntry(entry);
  if (!isSource(module)) return new Worker(module, options);
  // A thread does not inherit the loader of TypeScript sources.
  const script = `import('tsx/esm/api').then(({ register }) => { register(); return import('${module.href}'); });`;
  return new Worker(script, { eval: true, ...options });
}
