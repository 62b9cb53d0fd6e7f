import type { BlockLog } from './block-log.ts';

/** Tokens per block: the unit of prefix hashing and of the memory budget, as in vLLM. */
export const BLOCK_SIZE = 16;

/**
 * Length of a cached prefix that may be reported to a client: whole blocks, in tokens. An exact count
 * would let clients of a shared cache guess others' prompts one token at a time.
 */
export function wholeBlocks(numTokens: number): number {
  return numTokens - (numTokens % BLOCK_SIZE);
}

/**
 * Finds slots of the KV cache that begin with the same tokens as a prompt.
 *
 * Each full block of a slot's text has a hash that covers everything before it too (vLLM's automatic
 * prefix caching), so that a lookup is one map access per block. Hashes only propose: the caller
 * compares tokens, so a collision costs a miss and never a wrong answer.
 */
export class PrefixIndex {
  readonly #slotsByHash = new Map<number, Set<number>>();
  readonly #hashesBySlot: number[][] = [];
  readonly #log: BlockLog | null;

  /** @param log receives each block that the first slot has, and that no slot has any more */
  constructor(log: BlockLog | null = null) {
    this.#log = log;
  }

  /** Extends what is known of a slot's text by its full blocks up to `length` tokens. */
  extend(slot: number, salt: string, tokenIds: Int32Array, length: number): void {
    const hashes = (this.#hashesBySlot[slot] ??= []);
    while ((hashes.length + 1) * BLOCK_SIZE <= length) {
      const block = blockAt(tokenIds, hashes.length);
      const parent = hashes.at(-1);
      const hash = blockHash(parent ?? saltHash(salt), block);
      hashes.push(hash);
      const slots = this.#slotsByHash.get(hash);
      if (slots) {
        slots.add(slot);
      } else {
        this.#slotsByHash.set(hash, new Set([slot]));
        this.#log?.stored(hash, parent ?? null, block, salt);
      }
    }
  }

  /** Forgets a slot's text, from block `keptBlocks` on. */
  remove(slot: number, keptBlocks = 0): void {
    const gone: number[] = [];
    for (const hash of this.#hashesBySlot[slot]?.splice(keptBlocks) ?? []) {
      const slots = this.#slotsByHash.get(hash);
      slots?.delete(slot);
      if (slots?.size !== 0) continue;
      this.#slotsByHash.delete(hash);
      gone.push(hash);
    }
    this.#log?.removed(gone);
  }

  /** The slots that share the most full blocks with the text; empty when none shares any. */
  longestMatches(salt: string, tokenIds: Int32Array): readonly number[] {
    let best: Set<number> | undefined;
    let hash = saltHash(salt);
    for (let block = 0; (block + 1) * BLOCK_SIZE <= tokenIds.length; block++) {
      hash = blockHash(hash, blockAt(tokenIds, block));
      const slots = this.#slotsByHash.get(hash);
      if (!slots) break;
      best = slots;
    }
    return best ? [...best] : [];
  }
}

function blockAt(tokenIds: Int32Array, block: number): Int32Array {
  return tokenIds.subarray(block * BLOCK_SIZE, (block + 1) * BLOCK_SIZE);
}

/** A 53-bit hash of a block's tokens and the hash before it: two FNV-1a lanes with other primes. */
export function blockHash(previous: number, tokenIds: Int32Array): number {
  let low = (previous % 2 ** 32) ^ 0x811c9dc5;
  let high = Math.floor(previous / 2 ** 32) ^ 0x9e3779b9;
  for (const tokenId of tokenIds) {
    low = Math.imul(low ^ tokenId, 0x01000193);
    high = Math.imul(high ^ tokenId, 0x85ebca6b);
    high ^= high >>> 15;
  }
  return (low >>> 0) + ((high >>> 0) % 2 ** 21) * 2 ** 32;
}

export function saltHash(salt: string): number {
  let hash = 0;
  for (let index = 0; index < salt.length; index++) {
    hash = Math.imul(hash ^ salt.charCodeAt(index), 0x01000193) + index;
  }
  return hash >>> 0;
}
