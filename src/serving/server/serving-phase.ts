/** The end of a server, step by step. */
import type { Logger } from 'pino';
import type { RunningRequests } from '../../server/operating/running-requests.ts';

export interface EndOptions {
  /** Milliseconds in which requests are still taken, while /ready fails already. */
  readonly delayMs: number;
  /** Milliseconds for running requests after that. */
  readonly timeoutMs: number;
  readonly running: Pick<RunningRequests, 'size'>;
  readonly logger: Logger;
  /** Takes nothing new. @returns when all that was taken has ended */
  readonly stopTaking: () => Promise<unknown>;
  /** Closes the ports, and cuts what is left after `graceMs`. */
  readonly close: (graceMs: number) => Promise<unknown>;
}

/** Serving, then leaving: not ready, though requests are taken; then draining: none are taken. */
export class ServingPhase {
  #isLeaving = false;
  #isDraining = false;

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  async end({ delayMs, timeoutMs, running, logger, stopTaking, close }: EndOptions): Promise<void> {
    this.#isLeaving = true;
    if (delayMs > 0) {
      logger.info({ running: running.size, delaySeconds: delayMs / 1000 }, 'no longer ready');
      await after(delayMs);
    }
    this.#isDraining = true;
    const atFirst = running.size;
    logger.info({ running: atFirst, timeoutSeconds: timeoutMs / 1000 }, 'draining');
    const deadline = performance.now() + timeoutMs;
    // Until the last request is done the ports stay open: probes must see that we are draining.
    await Promise.race([stopTaking(), after(timeoutMs)]);
    const cut = running.size;
    await close(Math.max(0, deadline - performance.now()));
    logger.info({ finished: atFirst - cut, cut }, 'drained');
  }
}

/** The ports keep the process alive meanwhile. */
function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
