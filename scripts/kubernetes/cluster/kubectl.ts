/** kubectl, on a machine of the cluster. */
import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { programPath } from '../programs.ts';
import type { Machine } from './machine.ts';

const run = promisify(execFile);

export class Kubectl {
  readonly #machine: Machine;
  readonly #kubeconfig: string;

  constructor(machine: Machine, kubeconfig: string) {
    this.#machine = machine;
    this.#kubeconfig = kubeconfig;
  }

  /** A command line of this machine. */
  command(...args: readonly string[]): [string, ...string[]] {
    const kubeconfig = `--kubeconfig=${this.#kubeconfig}`;
    return this.#machine.inNetwork(programPath('kubectl'), kubeconfig, ...args);
  }

  /**
   * Runs a command.
   * @returns what it prints
   * @throws Error with what it printed as an error, when it fails
   */
  async run(...args: readonly string[]): Promise<string> {
    const [program, ...rest] = this.command(...args);
    return (await run(program, rest, { maxBuffer: 2 ** 26 })).stdout;
  }

  succeeds(...args: readonly string[]): boolean {
    const [program, ...rest] = this.command(...args);
    return spawnSync(program, rest).status === 0;
  }
}
