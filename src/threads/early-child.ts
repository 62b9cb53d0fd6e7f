/** Processes that start before it is known what they are for, while code that knows it still loads. */
import { type ChildProcess, fork, type ForkOptions, type Serializable } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** By the path of their module. */
const early = new Map<string, ChildProcess>();

/** How modules are run as processes, from the build. */
export const FORK_OPTIONS: ForkOptions = {
  // Typed arrays and bigints cross as they are.
  serialization: 'advanced',
  stdio: ['ignore', 'inherit', 'inherit', 'ipc', 'ignore'],
  execArgv: [],
};

/**
 * @param entry URL of a built module that waits for commands
 * @param command what it can do before it is known what it is for
 */
export function startEarly(entry: URL, command: Serializable): void {
  const path = fileURLToPath(entry);
  const child = fork(path, [], FORK_OPTIONS);
  child.send(command);
  early.set(path, child);
}

/** The process of a module that was started early and lives; only once. */
export function takeEarly(path: string): ChildProcess | undefined {
  const child = early.get(path);
  early.delete(path);
  return child?.connected === true ? child : undefined;
}
