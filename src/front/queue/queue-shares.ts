/** How many of the waiting requests each client has. */
import { LIMITS } from '../../limits.ts';

interface Held {
  requests: number;
  tokens: number;
}

const NOTHING: Readonly<Held> = { requests: 0, tokens: 0 };

/**
 * Whether a client that holds `held` places may take `wanted` of the `free` ones.
 *
 * With dynamic thresholds (Choudhury, Hahne: "Dynamic queue length thresholds for shared-memory
 * packet switches", IEEE/ACM Transactions on Networking, 1998) one client alone fills two thirds,
 * two that flood fill two fifths each, and the rest is free for whoever comes next. No waiting
 * request is dropped for that.
 */
export function isWithinShare(held: number, wanted: number, free: number): boolean {
  return held + wanted <= LIMITS.queueHeldPerFree * (free - wanted);
}

/** How many of `total` places a client gets if it is alone. */
export function largestShare(total: number): number {
  const { queueHeldPerFree: perFree } = LIMITS;
  const share = Math.floor((total * perFree) / (perFree + 1));
  return Math.max(share, Math.min(total, 1));
}

export class QueueShares {
  readonly #held = new Map<string, Held>();

  /** Waiting requests and tokens of `client`. */
  of(client: string): Readonly<Held> {
    return this.#held.get(client) ?? NOTHING;
  }

  add(client: string, tokens: number): void {
    const { requests, tokens: before } = this.of(client);
    this.#held.set(client, { requests: requests + 1, tokens: before + tokens });
  }

  remove(client: string, tokens: number): void {
    const { requests, tokens: before } = this.of(client);
    if (requests > 1) this.#held.set(client, { requests: requests - 1, tokens: before - tokens });
    else this.#held.delete(client);
  }
}
