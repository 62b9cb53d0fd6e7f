import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

/**
 * Descriptors that starting a process takes for a moment: a pair of sockets for its messages, a pipe
 * for the reason if it cannot run, and `/dev/null` as its input. One more is for the case that a client
 * got the socket of the last process.
 */
const NUM_DESCRIPTORS = 6;

/**
 * File descriptors kept for starting a process when none are left: clients may hold as many
 * connections as the system allows.
 */
export class DescriptorReserve {
  readonly #descriptors: number[] = [];

  /** Opens what is missing, as far as the system allows. */
  fill(): void {
    try {
      while (this.#descriptors.length < NUM_DESCRIPTORS) {
        this.#descriptors.push(openSync(devNull, 'r'));
      }
    } catch {
      // All are in use: what is missing is taken the next time.
    }
  }

  /**
   * Closes all of them, then runs an action that opens some, without a turn of the event loop in
   * between: nothing else gets them.
   */
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
