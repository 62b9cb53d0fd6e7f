import { type ChildProcess, fork } from 'node:child_process';
import { openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { EngineCommand, EngineMessage } from '../../engine/process/protocol.ts';

const RUNS_FROM_SOURCE = import.meta.url.endsWith('.ts');
const ENTRY = new URL(
  `../../engine/process/main.${RUNS_FROM_SOURCE ? 'ts' : 'js'}`,
  import.meta.url,
);

/** The first descriptor after stdin, stdout, stderr and the message channel. */
export const INHERITED_FD = 4;

export interface EngineProcessEvents {
  readonly onMessage: (message: EngineMessage) => void;
  /** Called once, however the process ended. @param description such as `signal SIGKILL` */
  readonly onExit: (description: string) => void;
}

export type SpawnEngine = (
  sharedMemoryFd: number | undefined,
  events: EngineProcessEvents,
) => EngineHandle;

export type EngineHandle = Pick<EngineProcess, 'pid' | 'openDescriptor' | 'kill' | 'send' | 'stop'>;

/** One engine process: native code can crash there without taking the front down. */
export class EngineProcess {
  readonly #child: ChildProcess;
  #ended = false;

  /** @param sharedMemoryFd file descriptor to hand down, if any; the process has it as INHERITED_FD */
  constructor(sharedMemoryFd: number | undefined, { onMessage, onExit }: EngineProcessEvents) {
    this.#child = fork(fileURLToPath(ENTRY), [], {
      // Typed arrays and bigints cross as they are.
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'inherit', 'ipc', sharedMemoryFd ?? 'ignore'],
      execArgv: RUNS_FROM_SOURCE ? ['--import', 'tsx'] : [],
    });
    this.#child.on('message', (message) => onMessage(message as EngineMessage));
    const end = (description: string) => {
      if (this.#ended) return;
      this.#ended = true;
      onExit(description);
    };
    this.#child.once('exit', (code, signal) => end(signal ? `signal ${signal}` : `code ${code}`));
    this.#child.once('error', (error) => end(error.message));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /**
   * Opens a file that the process has open, such as anonymous shared memory, so that it outlives
   * the process. Linux.
   * @returns our own descriptor of it; undefined when the process has ended meanwhile
   */
  openDescriptor(descriptor: number): number | undefined {
    try {
      return openSync(`/proc/${this.#child.pid}/fd/${descriptor}`, 'r+');
    } catch {
      return undefined;
    }
  }

  /** As a crash would. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Commands to a process that is ending are lost; its exit is still reported. */
  send(command: EngineCommand): void {
    if (this.#child.connected) this.#child.send(command, () => {});
  }

  /** Asks the process to end, and makes it end when it does not within `timeoutMs`. */
  async stop(timeoutMs: number): Promise<void> {
    if (this.#ended) return;
    const exited = new Promise((resolve) => this.#child.once('exit', resolve));
    this.send({ type: 'shutdown' });
    const timer = setTimeout(() => this.kill(), timeoutMs);
    await exited;
    clearTimeout(timer);
  }
}
