import { commonLength } from '../common-length.ts';

/** Text from its beginning on, in parts that texts with the same beginning share. */
export interface SharedText {
  readonly parent: SharedText | null;
  /** Those after the parent's. */
  readonly tokenIds: Int32Array;
  /** Tokens, the parent's too. */
  readonly length: number;
}

/** The state after a text, in a row of the pools. */
export interface Snapshot {
  readonly row: number;
  readonly salt: string;
  readonly text: SharedText;
  /** Goes after all others when rows are short. */
  readonly isPinned: boolean;
  readonly hash: number;
}

/**
 * Finds states by the texts that they are after. Hashes only propose: texts are compared token by token, so a
 * collision costs a snapshot and never a wrong answer.
 */
export class Snapshots {
  /** In the order of their last use. */
  readonly #byHash = new Map<number, Snapshot>();
  /** How many snapshots there are after so many tokens. */
  readonly #numByLength = new Map<number, number>();
  /** Its keys in order: looked through whenever a prompt waits for a slot. */
  readonly #lengths: number[] = [];

  /** In the order in which they make way. */
  *inOrder(): Generator<Snapshot> {
    for (const isPinned of [false, true]) {
      for (const each of this.#byHash.values()) if (each.isPinned === isPinned) yield each;
    }
  }

  /** The longest beginning of a text, up to `length` tokens, that there is a snapshot after. */
  longest(salt: string, tokenIds: Int32Array, length: number): Snapshot | null {
    let best: Snapshot | null = null;
    let hash = hashOf(salt);
    let hashed = 0;
    for (const each of this.#lengths) {
      if (each > length) break;
      hash = extendHash(hash, tokenIds.subarray(hashed, each));
      hashed = each;
      const found = this.#byHash.get(hash);
      if (found?.text.length !== each || found.salt !== salt) continue;
      if (isBeginning(found.text, tokenIds)) best = found;
    }
    return best;
  }

  /** @returns the snapshot, and one whose place it took */
  add(snapshot: Omit<Snapshot, 'hash'>): Snapshot | null {
    const hash = hashOfText(snapshot.salt, snapshot.text);
    const before = this.#byHash.get(hash) ?? null;
    if (before) this.remove(before);
    this.#byHash.set(hash, { ...snapshot, hash });
    const { length } = snapshot.text;
    const numBefore = this.#numByLength.get(length) ?? 0;
    this.#numByLength.set(length, numBefore + 1);
    const place = this.#lengths.findLastIndex((each) => each < length) + 1;
    if (numBefore === 0) this.#lengths.splice(place, 0, length);
    return before;
  }

  /** Makes it the last to make way. */
  use(snapshot: Snapshot): void {
    this.#byHash.delete(snapshot.hash);
    this.#byHash.set(snapshot.hash, snapshot);
  }

  remove({ hash, text: { length } }: Snapshot): void {
    this.#byHash.delete(hash);
    const left = (this.#numByLength.get(length) ?? 1) - 1;
    this.#numByLength.set(length, left);
    if (left > 0) return;
    this.#numByLength.delete(length);
    this.#lengths.splice(this.#lengths.indexOf(length), 1);
  }
}

function isBeginning(text: SharedText, tokenIds: Int32Array): boolean {
  for (let part: SharedText | null = text; part !== null; part = part.parent) {
    const own = part.tokenIds;
    const other = tokenIds.subarray(part.length - own.length, part.length);
    if (commonLength(own, other) < own.length) return false;
  }
  return true;
}

function hashOfText(salt: string, text: SharedText): number {
  const parts: Int32Array[] = [];
  for (let part: SharedText | null = text; part !== null; part = part.parent) {
    parts.push(part.tokenIds);
  }
  return parts.reduceRight(extendHash, hashOf(salt));
}

function hashOf(salt: string): number {
  return extendHash(
    0x811c9dc5,
    Int32Array.from(salt, (each) => each.charCodeAt(0)),
  );
}

/** FNV-1a, token by token: the same however a text is cut. */
function extendHash(hash: number, tokenIds: Int32Array): number {
  let value = hash;
  for (const tokenId of tokenIds) {
    value = Math.imul(value ^ tokenId, 0x01000193);
    value ^= value >>> 15;
  }
  return value;
}
