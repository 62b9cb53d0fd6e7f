/** Recent errors, grouped by kind: no texts, no keys, and a bounded number of entries. */
import type { JsonObject } from '../json-object.ts';

export interface Trouble {
  /**
   * Route such as `POST /v1/completions`, by the path's pattern: there is no bound on the number of
   * paths.
   */
  readonly what: string;
  /** HTTP status; null if there is none. */
  readonly status: number | null;
  /** For programs, such as `queue_full`; null without one. */
  readonly code: string | null;
  readonly model: string | null;
  /** Client whose key it was; null without one. */
  readonly client: string | null;
}

interface Entry extends Trouble {
  readonly firstAt: number;
  lastAt: number;
  count: number;
}

/** The same trouble is one entry that is counted. Of too many entries the one that is oldest goes. */
export class RecentErrors {
  readonly #capacity: number;
  /** In the order of their last time. */
  readonly #entries = new Map<string, Entry>();

  /** @param capacity entries that are kept */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** @param timeMs Unix time */
  note(trouble: Trouble, timeMs = Date.now()): void {
    const { what, status, code, model, client } = trouble;
    const key = JSON.stringify([what, status, code, model, client]);
    const known = this.#entries.get(key);
    this.#entries.delete(key);
    const entry = known ?? {
      what,
      status,
      code,
      model,
      client,
      firstAt: timeMs,
      lastAt: 0,
      count: 0,
    };
    entry.lastAt = timeMs;
    entry.count++;
    this.#entries.set(key, entry);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#capacity && oldest !== undefined) this.#entries.delete(oldest);
  }

  /** The last one first. */
  list(): JsonObject[] {
    return [...this.#entries.values()].toReversed().map(({ firstAt, lastAt, ...rest }) => ({
      ...rest,
      first_at: firstAt,
      last_at: lastAt,
    }));
  }
}

/** The server's own failures, and what it refused: a flood of the second does not push out the first. */
export class Troubles {
  readonly failures: RecentErrors;
  readonly refusals: RecentErrors;
  /** Failures since the start. */
  #numFailures = 0;

  /** @param capacity entries of each */
  constructor(capacity: number) {
    this.failures = new RecentErrors(capacity);
    this.refusals = new RecentErrors(capacity);
  }

  get numFailures(): number {
    return this.#numFailures;
  }

  failed(trouble: Trouble): void {
    this.#numFailures++;
    this.failures.note(trouble);
  }

  refused(trouble: Trouble): void {
    this.refusals.note(trouble);
  }
}
