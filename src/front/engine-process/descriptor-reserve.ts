import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

/**
 * What a new process takes for a moment: a pair of sockets for its messages, a pipe that would tell
 * why it could not run, and `/dev/null` as its input; one more is lost where the socket of the process
 * before went to a client.
 */
const NUM_DESCRIPTORS = 6;

/**
 * File descriptors kept for a process that has to start when there are none left: clients may hold
 * as many connections as the system allows.
 */
export class DescriptorReserve {
  readonly #descriptors: number[] = [];

  /** Has what is missing opened, as far as there are any to be had. */
  fill(): void {
    try {
      while (this.#descriptors.length < NUM_DESCRIPTORS) {
        this.#descriptors.push(openSync(devNull, 'r'));
      }
    } catch {
      // All are in use: what is missing is taken the next time.
    }
  }

  /** Lets go of all for an action that opens some, in one go: in between nobody else gets them. */
  lend<T>(action: () => T): T {
    this.release();
    try {
      return action();
    } finally {
      this.fill();
    }
  }

  release(): void {
    for (const descriptor of this.#descriptors.splice(0)) closeSync(descriptor);
  }
}
