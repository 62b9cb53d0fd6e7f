/** A crowd on a node, which comes in by the Service, and grows and shrinks as it is told. */
import { type CrowdSeen, crowdSeenSchema } from './crowd-seen.ts';
import { MachineScript } from './machine-script.ts';

export class CrowdLoad {
  readonly #script: MachineScript;

  constructor(url: string) {
    this.#script = new MachineScript('node1', 'crowd.ts', url);
  }

  /** There are so many people from now on; who leaves waits for an answer first. */
  be(people: number): void {
    this.#script.say(String(people));
  }

  /** Lets the answers that are under way end. */
  async end(): Promise<CrowdSeen> {
    return crowdSeenSchema.parse(await this.#script.end());
  }
}
