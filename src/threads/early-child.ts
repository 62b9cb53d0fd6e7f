/** Processes that start before it is known what they are for, while code that knows it still loads. */
import type { ChildProcess, Serializable } from 'node:child_process';
import { forkModule } from './fork-module.ts';

/** By the URL of their module; at most one of each. */
const early = new Map<string, ChildProcess>();

/**
 * Starts the process of a module, unless one waits already.
 * @param entry URL of a module, with the ending `.js`, that waits for commands
 * @param command what it can do before it is known what it is for
 * @returns ends the process, if nobody has taken it
 */
export function startEarly(entry: URL, command: Serializable): () => void {
  const { href } = entry;
  if (early.has(href)) return () => {};
  const child = forkModule(entry, ['ignore', 'inherit', 'inherit', 'ipc', 'ignore']);
  early.set(href, child);
  const forget = () => early.get(href) === child && early.delete(href);
  // Whoever wants one finds that there is none, and what is wrong once it starts another.
  child.once('error', forget).once('exit', forget);
  if (child.connected) child.send(command, () => {});
  return () => {
    if (forget()) child.kill('SIGKILL');
  };
}

/** The process of a module that was started early and lives; only once. */
export function takeEarly(entry: URL): ChildProcess | undefined {
  const child = early.get(entry.href);
  early.delete(entry.href);
  return child?.connected === true ? child : undefined;
}
