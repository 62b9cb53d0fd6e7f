/** Shares the event loop among all sockets of a server. */
import { guarded } from '../../guarded.ts';
import { LIMITS } from '../../limits.ts';

/** Something with frames to handle. */
export interface FrameHolder {
  /** Handles a frame, or a piece of a large one. @returns whether there is more */
  handlePiece(): boolean;
}

/**
 * Holders take turns frame by frame, and piece by piece of large ones. When their frames have had their share of a turn of the event
 * loop, the rest wait for the next one.
 */
export class FrameTurns {
  readonly #queue: FrameHolder[] = [];
  #spentMs = 0;
  #isNextAwaited = false;

  /** Queues `holder`, which must not be queued already; its frame may be handled before this returns. */
  add(holder: FrameHolder): void {
    this.#queue.push(holder);
    if (this.#queue.length === 1) this.#work();
  }

  #work(): void {
    while (this.#spentMs < LIMITS.frameTurnMs) {
      // It stays at the head meanwhile, so that nothing else runs at the same time.
      const [holder] = this.#queue;
      if (holder === undefined) break;
      const startedAt = performance.now();
      const hasMore = holder.handlePiece();
      this.#spentMs += performance.now() - startedAt;
      this.#queue.shift();
      if (hasMore) this.#queue.push(holder);
    }
    if (this.#isNextAwaited || this.#spentMs === 0) return;
    this.#isNextAwaited = true;
    const next = (): void => {
      this.#isNextAwaited = false;
      this.#spentMs = 0;
      this.#work();
    };
    // Whatever goes wrong, sockets get their turns.
    setImmediate(
      guarded(next, (error) => {
        next();
        throw error;
      }),
    );
  }
}
