import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { findMachine } from '../../../scripts/kubernetes/cluster/state.ts';

/** A script of this folder that runs in a machine of the cluster, and tells and hears lines. */
export class MachineScript {
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(machine: Parameters<typeof findMachine>[0], name: string, ...given: string[]) {
    const script = join(import.meta.dirname, name);
    const node = [process.execPath, '--import', 'tsx', script, ...given];
    const [program, ...args] = findMachine(machine).inNetwork(...node);
    this.#name = name;
    this.#child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    if (this.#child.stdout === null) throw new Error('it has no output');
    this.#lines = createInterface(this.#child.stdout)[Symbol.asyncIterator]();
  }

  /** Its next line. @param expected for the error where it ends before */
  async next(expected: string): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error(`${this.#name} ended before ${expected}`);
    return value;
  }

  say(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  /** Ends its input. @returns what it tells then, as JSON */
  async end(): Promise<unknown> {
    this.#child.stdin?.end();
    return JSON.parse(await this.next('its end'));
  }

  /** Ends it at once, whatever it does. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }
}
