import { CELL_LENGTH, type StepRecord } from '../../engine/tap/step-record.ts';
import type { WrittenJson } from '../http/written-json.ts';

/** Requests that are remembered in addition to those of the last record. */
const MAX_SPARE = 256;

/** Which requests of an engine were introduced, so that records can name them by their ids alone. */
export class KnownRequests {
  readonly #events = new Map<number, WrittenJson>();

  /** Events that introduced them. */
  get events(): Iterable<WrittenJson> {
    return this.#events.values();
  }

  /**
   * @param describe an event that introduces a request
   * @returns those for the requests in a record that were not there before
   */
  introduce(
    { cells, waiting }: StepRecord,
    describe: (id: number) => WrittenJson,
  ): readonly WrittenJson[] {
    const present = new Set(waiting);
    for (let at = 1; at < cells.length; at += CELL_LENGTH) present.add(cells[at] ?? 0);
    // A text that is kept has no request.
    present.delete(0);
    const introduced: WrittenJson[] = [];
    for (const id of present) {
      if (this.#events.has(id)) continue;
      const event = describe(id);
      this.#events.set(id, event);
      introduced.push(event);
    }
    if (this.#events.size > present.size + MAX_SPARE) {
      for (const id of this.#events.keys()) if (!present.has(id)) this.#events.delete(id);
    }
    return introduced;
  }
}
