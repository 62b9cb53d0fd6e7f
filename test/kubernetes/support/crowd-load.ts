/** A crowd on a node, which comes in by the Service, and grows and shrinks as it is told. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';
import { findMachine } from '../../../scripts/kubernetes/cluster/state.ts';
import { type CrowdSeen, crowdSeenSchema } from './crowd-seen.ts';

export class CrowdLoad {
  readonly #child: ChildProcess;
  readonly #output: Promise<string>;

  constructor(url: string) {
    const script = join(import.meta.dirname, 'crowd.ts');
    const node = [process.execPath, '--import', 'tsx', script, url];
    const [program, ...args] = findMachine('node1').inNetwork(...node);
    this.#child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    if (this.#child.stdout === null) throw new Error('it has no output');
    this.#output = text(this.#child.stdout);
  }

  /** There are so many people from now on; who leaves waits for an answer first. */
  be(people: number): void {
    this.#child.stdin?.write(`${people}\n`);
  }

  /** Lets the answers that are under way end. */
  async end(): Promise<CrowdSeen> {
    this.#child.stdin?.end();
    await once(this.#child, 'exit');
    return crowdSeenSchema.parse(JSON.parse(await this.#output));
  }
}
