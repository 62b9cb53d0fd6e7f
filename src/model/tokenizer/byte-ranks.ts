/** Vocabularies that are tokens' bytes with ranks, as tiktoken has them: pairs are merged in the order of ranks. */
import { told } from '../../told.ts';
import { ModelError } from '../model-error.ts';
import { requireBounded } from './made-tokenizer.ts';

/** Letters that stand for bytes, as GPT-2 chose them. */
const LETTERS: readonly string[] = (() => {
  const isPlain = (byte: number) =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) =>
    String.fromCharCode(isPlain(byte) ? byte : next++),
  );
})();

/** Bytes as letters: one character for each. */
export function lettersOf(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += LETTERS[byte] ?? '';
  return text;
}

/** @throws {ModelError} if it is no base64 */
export function bytesOf(base64: string, path: string): Buffer {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length === 0 || bytes.toString('base64') !== base64) {
    throw new ModelError(`${path}: ${JSON.stringify(told(base64, 40))} is no base64 of a token`);
  }
  return bytes;
}

/**
 * Ids of tokens, by their letters, whose order is that of their ranks.
 * @param tokens by rank, from 0
 * @param first id of the first
 * @throws {ModelError} if one is there twice, or a byte is none
 */
export function idsByRank(
  tokens: readonly string[],
  first: number,
  path: string,
): Map<string, number> {
  requireBounded(tokens, path);
  const ids = new Map(tokens.map((token, rank) => [token, first + rank]));
  if (ids.size < tokens.length) throw new ModelError(`${path} has a token twice`);
  const missing = LETTERS.findIndex((letter) => !ids.has(letter));
  if (missing >= 0) throw new ModelError(`${path} has no token of the byte ${missing}`);
  return ids;
}

/** Pairs that make tokens, in the order in which they are merged: that of what they make, then of their parts. */
export function mergesByRank(
  tokens: readonly string[],
  ids: ReadonlyMap<string, number>,
): [string, string][] {
  const merges: [string, string][] = [];
  for (const token of tokens) {
    const cuts: { readonly cut: number; readonly left: number; readonly right: number }[] = [];
    for (let cut = 1; cut < token.length; cut++) {
      const left = ids.get(token.slice(0, cut));
      const right = left === undefined ? undefined : ids.get(token.slice(cut));
      if (left !== undefined && right !== undefined) cuts.push({ cut, left, right });
    }
    cuts.sort((a, b) => a.left - b.left || a.right - b.right);
    for (const { cut } of cuts) merges.push([token.slice(0, cut), token.slice(cut)]);
  }
  return merges;
}
