/** Tokens of a vocabulary as texts see them that are written as they are, up to a marker. */
import { halfOf } from './text-end.ts';

/** Bytes of tokens, by id. */
export interface TokenBytes {
  readonly size: number;
  bytesOf(id: number): Uint8Array;
}

export class TextTokens {
  /** The tokens that have the marker, or a part of it that others may complete or begin, ascending. */
  readonly near: Int32Array;
  /** Those of them that may complete it. */
  readonly ending: Int32Array;
  /** The tokens near the marker, and those that may go on with its first half into the second. */
  readonly crossing: Int32Array;
  readonly #lengths: Uint32Array;
  readonly #longest: number;
  /** By characters. */
  readonly #kept = new Map<number, Int32Array>();

  constructor(tokens: TokenBytes, marker: string) {
    const text = Buffer.from(marker).toString('latin1');
    const near: number[] = [];
    const ending: number[] = [];
    const crossing: number[] = [];
    const half = text.slice(1, halfOf(marker) + 1);
    let longest = 0;
    this.#lengths = new Uint32Array(tokens.size);
    for (let id = 0; id < tokens.size; id++) {
      const bytes = tokens.bytesOf(id);
      const length = bytes.reduce((sum, byte) => sum + ((byte & 0xc0) === 0x80 ? 0 : 1), 0);
      this.#lengths[id] = length;
      longest = Math.max(longest, length);
      if (bytes.length === 0) continue;
      const token = Buffer.from(bytes).toString('latin1');
      const mayEnd = token.includes(text) || beginsWithEnd(token, text);
      if (mayEnd) ending.push(id);
      const isNear = mayEnd || token.includes(text[0] ?? '') || text.includes(token);
      if (isNear) near.push(id);
      if (isNear || beginsWithEnd(token, half)) crossing.push(id);
    }
    this.near = Int32Array.from(near);
    this.ending = Int32Array.from(ending);
    this.crossing = Int32Array.from(crossing);
    this.#longest = longest;
  }

  /** A mask with the tokens that add no more characters, and all that are near the marker; null for all. */
  within(numCharacters: number): Int32Array | null {
    if (this.#longest <= numCharacters) return null;
    const most = Math.max(-1, numCharacters);
    const known = this.#kept.get(most);
    if (known !== undefined) return known;
    const mask = new Int32Array(Math.ceil(this.#lengths.length / 32));
    const allow = (id: number): void => {
      mask[id >>> 5] = (mask[id >>> 5] ?? 0) | (1 << (id & 31));
    };
    for (const [id, length] of this.#lengths.entries()) if (length <= most) allow(id);
    for (const id of this.near) allow(id);
    // No more of them than the longest token has characters.
    this.#kept.set(most, mask);
    return mask;
  }
}

/** Whether a token begins with the last characters of a text, or with all. */
function beginsWithEnd(token: string, text: string): boolean {
  for (let from = 0; from < text.length; from++) {
    if (token.startsWith(text.slice(from))) return true;
  }
  return false;
}
