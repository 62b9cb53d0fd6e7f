/** Lengths of the ends of text that are looked up, longest first. */
const ORDERS = [8, 5, 3] as const;
const NUM_ENTRIES = 2 ** 17;

/** What followed the end of a text elsewhere. */
export interface Continuation {
  readonly tokenId: number;
  /** 0 for the longest end of text that was found, and so on. */
  readonly order: number;
}

/**
 * What came after which tokens in the texts of late, as a table of fixed size in which newer entries
 * replace older ones. Texts of different salts know nothing of each other.
 */
export class NgramHistory {
  static readonly numOrders = ORDERS.length;
  /** Two hashes decide: one for the place, and this one to tell entries apart. */
  readonly #checks = new Int32Array(NUM_ENTRIES);
  readonly #followers = new Int32Array(NUM_ENTRIES).fill(-1);

  /** Takes up the tokens from index `start` on. */
  add(salt: number, tokenIds: Int32Array, start: number): void {
    for (let end = Math.max(1, start); end < tokenIds.length; end++) {
      for (const order of ORDERS) {
        if (order > end) continue;
        const hash = hashOf(salt, tokenIds, end - order, end);
        const place = placeOf(hash);
        this.#checks[place] = hash;
        this.#followers[place] = tokenIds[end] ?? -1;
      }
    }
  }

  /** What followed the longest end of the first `end` tokens that is known. */
  find(salt: number, tokenIds: Int32Array, end: number): Continuation | null {
    for (const [order, length] of ORDERS.entries()) {
      if (length > end) continue;
      const hash = hashOf(salt, tokenIds, end - length, end);
      const place = placeOf(hash);
      const tokenId = this.#followers[place] ?? -1;
      if (tokenId !== -1 && this.#checks[place] === hash) return { tokenId, order };
    }
    return null;
  }
}

/** A number for a salt. */
export function hashSalt(salt: string): number {
  return hashOf(0, new TextEncoder().encode(salt), 0, Infinity);
}

/** FNV-1a over whole numbers, then mixed so that every bit counts. */
function hashOf(salt: number, values: Int32Array | Uint8Array, start: number, end: number): number {
  let hash = (salt ^ 0x811c9dc5) + end - start;
  for (let index = start; index < Math.min(end, values.length); index++) {
    hash = Math.imul(hash ^ (values[index] ?? 0), 0x01000193);
    hash ^= hash >>> 15;
  }
  return hash | 0;
}

function placeOf(hash: number): number {
  return Math.imul(hash, 0x9e3779b1) >>> (32 - Math.log2(NUM_ENTRIES));
}
