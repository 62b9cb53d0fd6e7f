/** One client's share of the response store: it finds only what that client made. */
import type { JsonObject } from '../json-object.ts';
import { Conversations } from './conversations.ts';
import type { EventLog } from './event-log.ts';
import type { ResponseEvent } from './response-event.ts';
import type { Item } from './items.ts';
import type { Turn } from './turn.ts';

export interface StoredResponse {
  readonly id: string;
  /** The response object. */
  readonly response: JsonObject;
  /** Input of the request itself, without that of previous responses. */
  readonly input: readonly Item[];
  /** Its conversation, once it has ended well. */
  readonly turn: Turn | null;
  /** Ends a background response that is at work. */
  readonly cancel: (() => void) | null;
  /** Events of a background response that is streamed; null for others. */
  readonly events: EventLog | null;
}

/** As it is kept: what is asked for of it is parsed then. */
export interface FoundResponse extends StoredResponse {
  /** The response object as text. */
  readonly responseJson: string;
}

interface Entry {
  readonly responseJson: string;
  readonly inputJson: string;
  readonly turn: Turn | null;
  readonly cancel: (() => void) | null;
  readonly events: EventLog | null;
  /** Bytes of all but the events. */
  readonly numBytes: number;
}

export interface PartitionOptions {
  /** False keeps nothing. */
  readonly isEnabled: boolean;
  /** Called when something was added, to make room if there is too much. */
  readonly onGrown: () => void;
}

interface LastTurn {
  readonly turn: Turn;
  readonly ownBytes: number;
}

export class ResponsePartition {
  readonly conversations = new Conversations(this);
  readonly #options: PartitionOptions;
  /** Responses, in the order of their last use. */
  readonly #entries = new Map<string, Entry>();
  /** Last turn of each session and conversation, in the order of their last use. */
  readonly #lastTurns = new Map<object, LastTurn>();
  readonly #turnOfItem = new Map<string, Turn>();
  #numBytes = 0;

  constructor(options: PartitionOptions) {
    this.#options = options;
  }

  /** Bytes of all texts kept. */
  get numBytes(): number {
    return this.#numBytes;
  }

  get size(): number {
    return this.#entries.size + this.#lastTurns.size;
  }

  /** Keeps `stored`, in place of an entry with its id, as far as there is room. */
  put(stored: StoredResponse): void {
    if (!this.#options.isEnabled) return;
    this.#remove(stored.id);
    const responseJson = JSON.stringify(stored.response);
    const inputJson = JSON.stringify(stored.input);
    const numBytes = Buffer.byteLength(responseJson) + Buffer.byteLength(inputJson);
    const { turn, cancel, events } = stored;
    this.#entries.set(stored.id, { responseJson, inputJson, turn, cancel, events, numBytes });
    this.#numBytes += numBytes + (events?.numBytes ?? 0);
    this.#hold(turn);
    this.#options.onGrown();
  }

  /** As `put`, unless its id was deleted or dropped meanwhile. */
  update(stored: StoredResponse): void {
    if (this.#entries.has(stored.id)) this.put(stored);
  }

  /** Adds to the events of a response, unless its id was deleted or dropped meanwhile. */
  tell(id: string, events: readonly ResponseEvent[]): void {
    const log = this.#entries.get(id)?.events;
    if (!log) return;
    const before = log.numBytes;
    log.push(events);
    this.#numBytes += log.numBytes - before;
    this.#options.onGrown();
  }

  get(id: string): FoundResponse | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    const { responseJson, inputJson, turn, cancel, events } = entry;
    return {
      id,
      responseJson,
      get response() {
        return JSON.parse(responseJson);
      },
      get input() {
        return JSON.parse(inputJson);
      },
      turn,
      cancel,
      events,
    };
  }

  /** The conversation that `id` ends, if it ended well. */
  turnOf(id: string): Turn | undefined {
    return this.get(id)?.turn ?? undefined;
  }

  /** Those who read its events get an error. @returns whether it was there */
  delete(id: string): boolean {
    const entry = this.#remove(id);
    entry?.events?.drop();
    return entry !== undefined;
  }

  #remove(id: string): Entry | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    this.#entries.delete(id);
    this.#numBytes -= entry.numBytes + (entry.events?.numBytes ?? 0);
    this.#release(entry.turn);
    return entry;
  }

  /** The turn of any response or conversation kept that has the item; the latest of several. */
  turnOfItem(id: string): Turn | undefined {
    return this.#turnOfItem.get(id);
  }

  /**
   * Keeps what `session` goes on with, stored or not, in place of what it went on with before; like
   * everything here it may be dropped for want of room.
   * @param turn null when the session ends
   * @param ownBytes memory of the session itself
   */
  keepLast(session: object, turn: Turn | null, ownBytes = 0): void {
    const before = this.#lastTurns.get(session);
    this.#lastTurns.delete(session);
    // Held before the other is let go of: most often it follows on it.
    if (turn !== null && this.#options.isEnabled) {
      this.#lastTurns.set(session, { turn, ownBytes });
      this.#numBytes += ownBytes;
      this.#hold(turn);
    }
    this.#letGo(before);
    this.#options.onGrown();
  }

  /** Last turn that `keepLast` got for `session`, unless it was dropped. */
  lastOf(session: object): Turn | undefined {
    return this.#lastTurns.get(session)?.turn;
  }

  /** Gives up the oldest response, or the oldest turn of a session where there is no response. */
  dropOldest(): void {
    const [oldest] = this.#entries;
    if (oldest !== undefined) {
      const [id, { cancel }] = oldest;
      this.delete(id);
      // Nobody can ask for it any more.
      cancel?.();
      return;
    }
    const [last] = this.#lastTurns;
    if (last === undefined) return;
    const [session, dropped] = last;
    this.#lastTurns.delete(session);
    this.#letGo(dropped);
  }

  #letGo(last: LastTurn | undefined): void {
    this.#numBytes -= last?.ownBytes ?? 0;
    this.#release(last?.turn ?? null);
  }

  #hold(turn: Turn | null): void {
    for (let current = turn; current !== null; current = current.previous) {
      current.numHolders++;
      if (current.numHolders > 1) return;
      this.#numBytes += current.numBytes;
      for (const itemId of current.itemIds) this.#turnOfItem.set(itemId, current);
    }
  }

  #release(turn: Turn | null): void {
    for (let current = turn; current !== null; current = current.previous) {
      current.numHolders--;
      if (current.numHolders > 0) return;
      this.#numBytes -= current.numBytes;
      for (const itemId of current.itemIds) {
        if (this.#turnOfItem.get(itemId) === current) this.#turnOfItem.delete(itemId);
      }
    }
  }
}
