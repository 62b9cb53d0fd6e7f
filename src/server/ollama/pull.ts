/** /api/pull: downloads a model of the hub. */
import { setTimeout as sleep } from 'node:timers/promises';
import { LIMITS } from '../../limits.ts';
import type { PullModel } from '../context.ts';
import { tooManyPulls } from '../errors.ts';
import type { JsonObject } from '../json-object.ts';

/** Between lines about a download. */
const TELL_MS = 250;

export class Pulls {
  readonly #pullModel: PullModel;
  /** References of those under way. */
  readonly #running = new Set<string>();

  constructor(pullModel: PullModel) {
    this.#pullModel = pullModel;
  }

  /**
   * The lines that tell of a download, until it is done.
   * @param signal gives it up
   * @throws ApiError 429 when too many are under way, or this one is
   */
  start(reference: string, signal: AbortSignal): AsyncGenerator<readonly JsonObject[], void> {
    if (this.#running.size >= LIMITS.pulls || this.#running.has(reference)) {
      throw tooManyPulls(LIMITS.pulls);
    }
    this.#running.add(reference);
    return this.#tell(reference, signal);
  }

  async *#tell(
    reference: string,
    signal: AbortSignal,
  ): AsyncGenerator<readonly JsonObject[], void> {
    let latest: JsonObject | null = null;
    const ended = this.#pullModel(
      reference,
      (completed, total) => (latest = { status: `pulling ${reference}`, total, completed }),
      signal,
    ).then(() => true);
    const free = (): void => void this.#running.delete(reference);
    // Whoever reads may leave before it ends.
    ended.then(free, free);
    yield [{ status: 'pulling manifest' }];
    let told: JsonObject | null = null;
    for (let isDone = false; !isDone;) {
      isDone = await Promise.race([ended, sleep(TELL_MS, false)]);
      if (latest !== null && latest !== told) yield [latest];
      told = latest;
    }
    yield [{ status: 'success' }];
  }
}
