import { isEmbedding } from '../prompt-embeddings.ts';

/** Lengths of the ends of text that are looked up. */
const ORDERS = [1, 2, 3, 5, 8] as const;
const LONGEST = Math.max(...ORDERS);
const NUM_ENTRIES = 2 ** 17;
const MAX_STREAK = 3;

/** Token that followed the end of a text elsewhere. */
export interface Continuation {
  readonly tokenId: number;
  /** Grows with the length of the end of text that was found, from 0. */
  readonly order: number;
  /**
   * How often it came in a row, counted up to 3; 0 where something else came before it. Names
   * that change follow the same words as words that don't: this distinguishes them.
   */
  readonly streak: number;
}

/**
 * Records which token followed which n-gram in recent texts: a table of fixed size, in which newer
 * entries replace older ones. Texts of different salts are kept apart.
 */
export class NgramHistory {
  static readonly numOrders = ORDERS.length;
  static readonly numStreaks = MAX_STREAK + 1;
  /** One hash gives the place in the table; this one says whether the entry matches. */
  readonly #checks = new Int32Array(NUM_ENTRIES);
  readonly #followers = new Int32Array(NUM_ENTRIES).fill(-1);
  readonly #streaks = new Uint8Array(NUM_ENTRIES);
  /** Hashes of the ends of the current text, by order. */
  readonly #hashes = new Int32Array(ORDERS.length);

  /** Takes up the tokens from index `start` on. */
  add(salt: number, tokenIds: Int32Array, start: number): void {
    for (let end = Math.max(1, start); end < tokenIds.length; end++) {
      const tokenId = tokenIds[end] ?? -1;
      if (isEmbedding(tokenId)) continue;
      const numOrders = this.#hash(salt, tokenIds, end);
      for (let order = 0; order < numOrders; order++) this.#put(this.#hashes[order] ?? 0, tokenId);
    }
  }

  /** Finds the token that followed the longest known end of the first `end` tokens. */
  find(salt: number, tokenIds: Int32Array, end: number): Continuation | null {
    for (let order = this.#hash(salt, tokenIds, end) - 1; order >= 0; order--) {
      const hash = this.#hashes[order] ?? 0;
      const place = placeOf(hash);
      const tokenId = this.#followers[place] ?? -1;
      if (tokenId === -1 || this.#checks[place] !== hash) continue;
      return { tokenId, order, streak: this.#streaks[place] ?? 0 };
    }
    return null;
  }

  #put(hash: number, tokenId: number): void {
    const place = placeOf(hash);
    const before = this.#followers[place];
    const isKnown = before !== -1 && this.#checks[place] === hash;
    const streak = isKnown ? (this.#streaks[place] ?? 0) : 0;
    this.#streaks[place] = isKnown && before !== tokenId ? 0 : Math.min(streak + 1, MAX_STREAK);
    this.#checks[place] = hash;
    this.#followers[place] = tokenId;
  }

  /** Hashes the ends of the first `end` tokens, back from the last one; returns of how many orders. */
  #hash(salt: number, tokenIds: Int32Array, end: number): number {
    let hash = salt ^ 0x811c9dc5;
    let order = 0;
    for (let length = 1; length <= Math.min(LONGEST, end); length++) {
      hash = mix(hash, tokenIds[end - length] ?? 0);
      if (length === ORDERS[order]) this.#hashes[order++] = hash + length;
    }
    return order;
  }
}

/** A number for a salt. */
export function hashSalt(salt: string): number {
  return new TextEncoder().encode(salt).reduce(mix, 0x811c9dc5);
}

/** FNV-1a over whole numbers, mixed so that every bit counts. */
function mix(hash: number, value: number): number {
  const product = Math.imul(hash ^ value, 0x01000193);
  return product ^ (product >>> 15);
}

function placeOf(hash: number): number {
  return Math.imul(hash, 0x9e3779b1) >>> (32 - Math.log2(NUM_ENTRIES));
}
