/** How long the event loop of this process was blocked recently. */
import { LIMITS } from '../../limits.ts';

/** A timer that fires this late means that the loop was blocked; also its period. */
const TICK_MS = 250;

interface Stall {
  readonly endedAt: number;
  readonly ms: number;
}

export class LoopMonitor {
  /** Those of the last LIMITS.loopWindowMs, in order. */
  #stalls: Stall[] = [];
  #tickedAt = performance.now();
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
  }

  /** Milliseconds of the last LIMITS.loopWindowMs in which nothing else could run. */
  get stalledMs(): number {
    this.#tick();
    let sum = 0;
    for (const { ms } of this.#stalls) sum += ms;
    return sum;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const now = performance.now();
    const lateMs = now - this.#tickedAt - TICK_MS;
    if (lateMs > TICK_MS) this.#stalls.push({ endedAt: now, ms: lateMs });
    this.#stalls = this.#stalls.filter(({ endedAt }) => now - endedAt < LIMITS.loopWindowMs);
    this.#tickedAt = now;
  }
}
