/** Processes that start before it is known what they are for, while code that knows it still loads. */
import type { ChildProcess, Serializable } from 'node:child_process';
import { forkModule } from './fork-module.ts';

/** By the URL of their module. */
const early = new Map<string, ChildProcess>();

/**
 * @param entry URL of a module, with the ending `.js`, that waits for commands
 * @param command what it can do before it is known what it is for
 */
export function startEarly(entry: URL, command: Serializable): void {
  const child = forkModule(entry, ['ignore', 'inherit', 'inherit', 'ipc', 'ignore']);
  child.send(command);
  early.set(entry.href, child);
}

/** The process of a module that was started early and lives; only once. */
export function takeEarly(entry: URL): ChildProcess | undefined {
  const child = early.get(entry.href);
  early.delete(entry.href);
  return child?.connected === true ? child : undefined;
}
