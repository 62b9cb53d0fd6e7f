import type { ChildProcess } from 'node:child_process';
import { takeEarly } from './early-child.ts';
import { forkModule } from './fork-module.ts';

export interface ChildEvents<Message> {
  readonly onMessage: (message: Message) => void;
  /** Called once, however the process ended. @param description such as `signal SIGKILL` */
  readonly onExit: (description: string) => void;
}

/** A command that every such module knows: end by yourself. */
interface Shutdown {
  readonly type: 'shutdown';
}

/** A module that runs in a process of its own: native code can crash there without taking us down. */
export class ChildModule<Command extends object, Message> {
  protected readonly child: ChildProcess;
  #ended = false;

  /**
   * Starts it; it ends with this process.
   * @param entry URL of the module with the ending `.js`
   * @param inherited a file descriptor to hand down; the process has it as number 4
   */
  constructor(entry: URL, { onMessage, onExit }: ChildEvents<Message>, inherited?: number) {
    const early = inherited === undefined ? takeEarly(entry) : undefined;
    this.child =
      early ?? forkModule(entry, ['ignore', 'inherit', 'inherit', 'ipc', inherited ?? 'ignore']);
    this.child.on('message', onMessage as (message: unknown) => void);
    const end = (description: string) => {
      if (this.#ended) return;
      this.#ended = true;
      onExit(description);
    };
    this.child.once('exit', (code, signal) => end(signal ? `signal ${signal}` : `code ${code}`));
    this.child.once('error', (error) => end(error.message));
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** As a crash would. */
  kill(): void {
    this.child.kill('SIGKILL');
  }

  /** Commands to a process that is going down are lost; its exit is reported all the same. */
  send(command: Command | Shutdown): void {
    if (this.child.connected) this.child.send(command, () => {});
  }

  /** Asks the process to end, and makes it end when it does not within `timeoutMs`. */
  async stop(timeoutMs: number): Promise<void> {
    if (this.#ended) return;
    const exited = new Promise((resolve) => this.child.once('exit', resolve));
    this.send({ type: 'shutdown' });
    const timer = setTimeout(() => this.kill(), timeoutMs);
    await exited;
    clearTimeout(timer);
  }
}
