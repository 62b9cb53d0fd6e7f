import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { z } from 'zod';
import { STARTED } from '../../../support/server-process.ts';
import { until } from '../../../support/processes.ts';

/** A model may be built first. */
const READY_MS = 600_000;

const state = z.object({ pid: z.int() });

/** Commands in bash, as they are typed; the first one that fails ends them. */
export class Shell {
  readonly #bash: ChildProcess;
  readonly #ended: Promise<unknown>;
  #output = '';
  /** Addresses of the servers that were started, in order. */
  readonly #servers: string[] = [];
  #numEnded = 0;

  constructor(text: string, cwd: string, env: NodeJS.ProcessEnv) {
    // A group of its own: what a failure leaves behind is ended as well.
    this.#bash = spawn('bash', ['-ec', text], {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    this.#ended = once(this.#bash, 'close');
    for (const stream of [this.#bash.stdout, this.#bash.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.#output += chunk.toString()));
    }
  }

  get output(): string {
    return this.#output;
  }

  /** Ends each server when it is ready. @returns the number of servers, once all commands have ended */
  async serveToEnd(): Promise<number> {
    while (await this.nextServer()) await this.endServer();
    return this.#numEnded;
  }

  /** Until another server is ready. @returns false if the commands ended without one */
  async nextServer(): Promise<boolean> {
    const addresses = () =>
      [...this.#output.matchAll(new RegExp(STARTED, 'g'))].map(([, address = '']) => address);
    const isReady = () => addresses().length > this.#numEnded;
    await until(() => isReady() || this.#hasEnded, 'the start of a server', READY_MS).catch(
      (error: unknown) => {
        throw new Error(`${String(error)}:\n${this.#output}`);
      },
    );
    if (!isReady()) {
      await this.end();
      return false;
    }
    this.#servers.push(addresses()[this.#numEnded]?.replace('0.0.0.0', '127.0.0.1') ?? '');
    return true;
  }

  /** SIGTERM to the server that is running: it has to end with 0, or bash would go no further. */
  async endServer(): Promise<void> {
    const response = await fetch(`${this.#servers.at(-1)}/admin/state`);
    process.kill(state.parse(await response.json()).pid, 'SIGTERM');
    this.#numEnded++;
  }

  /** @throws Error with the output if a command failed */
  async end(): Promise<string> {
    await this.#ended;
    const { exitCode, signalCode } = this.#bash;
    if (exitCode !== 0) throw new Error(`${signalCode ?? `exit ${exitCode}`}:\n${this.#output}`);
    return this.#output;
  }

  /** For what hangs. */
  kill(): void {
    const { pid } = this.#bash;
    try {
      if (pid !== undefined) process.kill(-pid, 'SIGKILL');
    } catch {
      // All of the group has ended.
    }
  }

  get #hasEnded(): boolean {
    return this.#bash.exitCode !== null || this.#bash.signalCode !== null;
  }
}
