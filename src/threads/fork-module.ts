import { type ChildProcess, fork, type StdioOptions } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { isSource, moduleEntry } from './module-entry.ts';

const END_WITH_PARENT = new URL('./end-with-parent.js', import.meta.url);

/**
 * Starts a module as a process, from the sources or from the build, whichever this runs from. The
 * process gets SIGKILL when this one ends, whatever it is doing then (end-with-parent.ts). Not to be
 * called in a thread: on Linux its end would count as that of this process.
 * @param entry URL of the module with the ending `.js`
 */
export function forkModule(entry: URL, stdio: StdioOptions): ChildProcess {
  const module = moduleEntry(entry);
  const watch = moduleEntry(END_WITH_PARENT);
  const needsLoader = isSource(module) || isSource(watch);
  return fork(fileURLToPath(module), [String(process.pid)], {
    // Typed arrays and bigints cross as they are.
    serialization: 'advanced',
    stdio,
    execArgv: [...(needsLoader ? ['--import', 'tsx'] : []), '--import', watch.href],
  });
}
