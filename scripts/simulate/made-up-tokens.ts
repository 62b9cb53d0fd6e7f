import type { Random } from '../../src/bench/random.ts';

const VOCAB_SIZE = 32_000;

/**
 * A request's output at an index: it depends on nothing else, so that every token can be checked.
 */
export function madeUpToken(requestId: number, index: number): number {
  let hash = Math.imul(requestId ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(index + 1, 0xc2b2ae35);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return ((hash ^ (hash >>> 13)) >>> 0) % VOCAB_SIZE;
}

/** The whole output of a request. */
export function madeUpOutput(requestId: number, length: number): Int32Array {
  return Int32Array.from({ length }, (_, index) => madeUpToken(requestId, index));
}

export function randomTokens(length: number, random: Random): Int32Array {
  const tokenIds = new Int32Array(length);
  for (let index = 0; index < length; index++) tokenIds[index] = random.integer(0, VOCAB_SIZE - 1);
  return tokenIds;
}

export function joinTokens(...parts: readonly Int32Array[]): Int32Array {
  const joined = new Int32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
