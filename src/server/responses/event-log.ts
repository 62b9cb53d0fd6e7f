/** The events of a background response, for those who read them while they come, or again. */
import { EventEmitter, once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { hasLeft } from '../../front/deadline.ts';
import { LIMITS } from '../../limits.ts';
import { ApiError } from '../errors.ts';
import { WrittenJson } from '../http/written-json.ts';
import type { ResponseEvent } from './response-event.ts';

/** Characters, but for those of the last event, that a reader gets in a turn of the event loop. */
const CHARACTERS_AT_ONCE = 4096;

export class EventLog {
  /** By their numbers; null when they were dropped. */
  #events: WrittenJson[] | null = [];
  #numBytes = 0;
  #hasEnded = false;
  /** Tells when there is more, or nothing will come. */
  readonly #changes = new EventEmitter();

  constructor() {
    // All who read listen; Node would report more than ten listeners as a leak.
    this.#changes.setMaxListeners(0);
  }

  get numBytes(): number {
    return this.#numBytes;
  }

  push(events: readonly ResponseEvent[]): void {
    if (this.#events === null) return;
    for (const event of events) {
      const text = JSON.stringify(event);
      this.#events.push(new WrittenJson(text, event.type));
      this.#numBytes += LIMITS.keptEventBytes + Buffer.byteLength(text);
    }
    this.#changes.emit('change');
  }

  /** Nothing comes any more. */
  end(): void {
    this.#hasEnded = true;
    this.#changes.emit('change');
  }

  /** Lets go of all events, also for those who have not read them yet. */
  drop(): void {
    this.#events = null;
    this.#numBytes = 0;
    this.#changes.emit('change');
  }

  /**
   * The events that follow on one, to the last.
   * @param after the one's number; -1 for all
   * @param signal ends it when the reader has left
   * @throws ApiError 404 when they were dropped meanwhile
   */
  async *read(after: number, signal: AbortSignal): AsyncGenerator<readonly WrittenJson[], void> {
    for (let at = after + 1; !hasLeft(signal);) {
      if (this.#events === null) throw dropped();
      const events = someFrom(this.#events, at);
      at += events.length;
      if (events.length > 0) {
        yield events;
        // A reader who keeps up would else have the event loop to itself.
        await setImmediate();
      } else if (this.#hasEnded) return;
      // Past its deadline the response still tells that it has failed.
      else await once(this.#changes, 'change', signal.aborted ? {} : { signal }).catch(() => {});
    }
  }
}

function someFrom(events: readonly WrittenJson[], start: number): WrittenJson[] {
  const some: WrittenJson[] = [];
  let numCharacters = 0;
  for (let at = start; at < events.length && numCharacters < CHARACTERS_AT_ONCE; at++) {
    const event = events[at];
    if (event === undefined) break;
    some.push(event);
    numCharacters += event.text.length;
  }
  return some;
}

function dropped(): ApiError {
  const message =
    'The response was deleted meanwhile, or the response store was full (--response-store-size).';
  return new ApiError(404, 'NotFoundError', message, { code: 'response_not_found' });
}
