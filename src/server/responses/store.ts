/**
 * Keeps responses in memory, the least recently used ones dropped first. What is kept is JSON text,
 * so that its size is known and nothing in it can change.
 */
import type { JsonObject } from '../openai/answer.ts';
import type { Item } from './items.ts';

/** Most responses kept, whatever their size: what a response costs beside its text. */
const MAX_RESPONSES = 10_000;

/**
 * One turn of a conversation. Turns are shared by all responses that follow on them, and live as
 * long as the last of those: dropping a response breaks no conversation.
 */
export class Turn {
  readonly previous: Turn | null;
  readonly json: string;
  readonly itemIds: readonly string[];
  /** Responses and turns that hold on to this one. */
  numHolders = 0;

  constructor(previous: Turn | null, items: readonly Item[]) {
    this.previous = previous;
    this.json = JSON.stringify(items);
    this.itemIds = items.map(({ id }) => id);
  }

  get numBytes(): number {
    return Buffer.byteLength(this.json);
  }

  items(): Item[] {
    return JSON.parse(this.json);
  }
}

/** The items of a conversation up to and with `turn`, oldest first. */
export function conversationOf(turn: Turn | null): Item[] {
  const turns: Item[][] = [];
  for (let current = turn; current !== null; current = current.previous) {
    turns.push(current.items());
  }
  return turns.toReversed().flat();
}

export interface StoredResponse {
  readonly id: string;
  /** The response object. */
  readonly response: JsonObject;
  /** What the request brought, without what came from previous responses. */
  readonly input: readonly Item[];
  /** Its conversation, once it has ended well. */
  readonly turn: Turn | null;
  /** Ends a background response that is at work. */
  readonly cancel: (() => void) | null;
}

interface Entry {
  readonly responseJson: string;
  readonly inputJson: string;
  readonly turn: Turn | null;
  readonly cancel: (() => void) | null;
  readonly numBytes: number;
}

export class ResponseStore {
  readonly #maxBytes: number;
  /** In the order of their last use. */
  readonly #entries = new Map<string, Entry>();
  readonly #turnOfItem = new Map<string, Turn>();
  #numBytes = 0;

  /** @param maxBytes of all texts kept together; 0 keeps nothing */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get isEnabled(): boolean {
    return this.#maxBytes > 0;
  }

  get numBytes(): number {
    return this.#numBytes;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Keeps `stored`, in place of what had its id, as far as there is room. */
  put(stored: StoredResponse): void {
    if (!this.isEnabled) return;
    this.delete(stored.id);
    const responseJson = JSON.stringify(stored.response);
    const inputJson = JSON.stringify(stored.input);
    const numBytes = Buffer.byteLength(responseJson) + Buffer.byteLength(inputJson);
    const { turn, cancel } = stored;
    this.#entries.set(stored.id, { responseJson, inputJson, turn, cancel, numBytes });
    this.#numBytes += numBytes;
    this.#hold(turn);
    for (const id of this.#entries.keys()) {
      if (this.#numBytes <= this.#maxBytes && this.#entries.size <= MAX_RESPONSES) break;
      this.delete(id);
    }
  }

  /** As `put`, unless its id was deleted or dropped meanwhile. */
  update(stored: StoredResponse): void {
    if (this.#entries.has(stored.id)) this.put(stored);
  }

  get(id: string): StoredResponse | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    return {
      id,
      response: JSON.parse(entry.responseJson),
      input: JSON.parse(entry.inputJson),
      turn: entry.turn,
      cancel: entry.cancel,
    };
  }

  /** @returns whether it was there. */
  delete(id: string): boolean {
    const entry = this.#entries.get(id);
    if (entry === undefined) return false;
    this.#entries.delete(id);
    this.#numBytes -= entry.numBytes;
    this.#release(entry.turn);
    return true;
  }

  /** An item of any response or conversation that is kept. */
  findItem(id: string): Item | undefined {
    return this.#turnOfItem
      .get(id)
      ?.items()
      .find((item) => item.id === id);
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
