/** Tokens of a vocabulary as counted strings see them. */
import type { Escape } from './counted-walk.ts';
import { TextTokens } from './text-tokens.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const UNICODE_ESCAPE = 0x75;

/** Masks that are kept, of 25 KB for 200,000 tokens. */
const MAX_KEPT = 512;

/** Characters of a string that each token adds; 0 for those with a quote. */
interface Lengths {
  readonly lengths: Uint32Array;
  readonly longest: number;
}

export class CountedTokens {
  /** The tokens that may end a string or begin one, ascending. */
  readonly withQuote: Int32Array;
  /** Bytes of the longest token. */
  readonly longest: number;
  readonly #bytes: Uint8Array;
  readonly #starts: Uint32Array;
  readonly #isWithQuote: Uint8Array;
  readonly #lengths = new Map<Escape, Lengths>();
  readonly #kept = new Map<string, Int32Array>();
  /** By bytes, and by marker: of those there are as many as layouts of calls. */
  readonly #withAny = new Map<string, Int32Array>();
  readonly #before = new Map<string, TextTokens>();

  /** @param tokens see GrammarVocabulary */
  constructor(tokens: readonly string[]) {
    const numBytes = tokens.reduce((sum, { length }) => sum + length, 0);
    this.#bytes = new Uint8Array(numBytes);
    this.#starts = new Uint32Array(tokens.length + 1);
    this.#isWithQuote = new Uint8Array(tokens.length);
    const withQuote: number[] = [];
    this.longest = tokens.reduce((most, { length }) => Math.max(most, length), 0);
    let at = 0;
    for (const [id, token] of tokens.entries()) {
      for (let index = 0; index < token.length; index++) {
        this.#bytes[at++] = byteOf(token.charCodeAt(index));
      }
      this.#starts[id + 1] = at;
      if (!this.bytesOf(id).includes(QUOTE)) continue;
      this.#isWithQuote[id] = 1;
      withQuote.push(id);
    }
    this.withQuote = Int32Array.from(withQuote);
  }

  bytesOf(id: number): Uint8Array {
    return this.#bytes.subarray(this.#starts[id] ?? 0, this.#starts[id + 1] ?? 0);
  }

  /** Number of tokens. */
  get size(): number {
    return this.#isWithQuote.length;
  }

  /** The tokens that have one of these bytes, ascending. */
  withAny(bytes: readonly number[]): Int32Array {
    const key = bytes.join();
    const known = this.#withAny.get(key);
    if (known !== undefined) return known;
    const wanted = new Set(bytes);
    const ids: number[] = [];
    for (let id = 0; id < this.size; id++) {
      if (this.bytesOf(id).some((byte) => wanted.has(byte))) ids.push(id);
    }
    const found = Int32Array.from(ids);
    this.#withAny.set(key, found);
    return found;
  }

  /** The tokens as texts see them that are written as they are, up to a marker. */
  before(marker: string): TextTokens {
    const known = this.#before.get(marker);
    if (known !== undefined) return known;
    const made = new TextTokens(this, marker);
    this.#before.set(marker, made);
    return made;
  }

  /**
   * A mask without the tokens that add more characters to a string; those with a quote are left in.
   * Null when there are none.
   * @param escape where the string is
   */
  within(numCharacters: number, escape: Escape): Int32Array | null {
    if (numCharacters === Infinity) return null;
    const { lengths, longest } = this.#lengthsAfter(escape);
    if (longest <= numCharacters) return null;
    const key = `${numCharacters} ${escape}`;
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const mask = new Int32Array(Math.ceil(lengths.length / 32));
    for (const [id, length] of lengths.entries()) {
      if (length <= numCharacters) mask[id >>> 5] = (mask[id >>> 5] ?? 0) | (1 << (id & 31));
    }
    if (this.#kept.size < MAX_KEPT) this.#kept.set(key, mask);
    return mask;
  }

  #lengthsAfter(escape: Escape): Lengths {
    const known = this.#lengths.get(escape);
    if (known !== undefined) return known;
    const lengths = new Uint32Array(this.#isWithQuote.length);
    let longest = 0;
    for (let id = 0; id < lengths.length; id++) {
      if (this.#isWithQuote[id] === 1) continue;
      const length = charactersOf(this.bytesOf(id), escape);
      lengths[id] = length;
      longest = Math.max(longest, length);
    }
    const found = { lengths, longest };
    this.#lengths.set(escape, found);
    return found;
  }
}

/** Characters that a token adds, after an escape's rest; a backslash and what it escapes are one. */
function charactersOf(bytes: Uint8Array, escape: Escape): number {
  let number = 0;
  let index = escape === 'begun' ? escapedBytes(bytes[0]) : escape === 'none' ? 0 : escape;
  for (; index < bytes.length; index++) {
    const byte = bytes[index] ?? 0;
    if ((byte & 0xc0) !== 0x80) number++;
    if (byte === BACKSLASH) index += escapedBytes(bytes[index + 1]);
  }
  return number;
}

/** Bytes after a backslash that the character has. */
function escapedBytes(first: number | undefined): number {
  return first === UNICODE_ESCAPE ? 5 : 1;
}

/** Bytes of GPT-2's characters, which are those of `byteLevel`. */
function byteOf(code: number): number {
  return code < 256 ? code : (MOVED[code - 256] ?? 0);
}

/** The bytes that are no printable characters, which have those from 256 on in order. */
const MOVED: readonly number[] = Array.from({ length: 256 }, (_, byte) => byte).filter(
  (byte) => byte < 0x21 || (byte > 0x7e && byte < 0xa1) || byte === 0xad,
);
