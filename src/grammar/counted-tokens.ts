/** Tokens of a vocabulary as counted strings see them. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Masks that are kept, of 25 KB for 200,000 tokens. */
const MAX_KEPT = 512;

export class CountedTokens {
  /** The tokens that may end a string or begin one, ascending. */
  readonly withQuote: Int32Array;
  /** The most characters of a string that another token adds. */
  readonly longest: number;
  readonly #bytes: Uint8Array;
  readonly #starts: Uint32Array;
  /** Characters of a string that each token adds; 0 for those with a quote. */
  readonly #lengths: Uint32Array;
  readonly #kept = new Map<number, Int32Array>();

  /** @param tokens see GrammarVocabulary */
  constructor(tokens: readonly string[]) {
    const numBytes = tokens.reduce((sum, { length }) => sum + length, 0);
    this.#bytes = new Uint8Array(numBytes);
    this.#starts = new Uint32Array(tokens.length + 1);
    this.#lengths = new Uint32Array(tokens.length);
    const withQuote: number[] = [];
    let at = 0;
    for (const [id, token] of tokens.entries()) {
      for (let index = 0; index < token.length; index++) {
        this.#bytes[at++] = byteOf(token.charCodeAt(index));
      }
      this.#starts[id + 1] = at;
      const bytes = this.bytesOf(id);
      if (bytes.includes(QUOTE)) withQuote.push(id);
      else this.#lengths[id] = charactersOf(bytes);
    }
    this.withQuote = Int32Array.from(withQuote);
    this.longest = this.#lengths.reduce((most, length) => Math.max(most, length), 0);
  }

  bytesOf(id: number): Uint8Array {
    return this.#bytes.subarray(this.#starts[id] ?? 0, this.#starts[id + 1] ?? 0);
  }

  /** A mask without the tokens that add more characters to a string, where no escape is open. */
  within(numCharacters: number): Int32Array {
    const known = this.#kept.get(numCharacters);
    if (known !== undefined) return known;
    const mask = new Int32Array(Math.ceil(this.#lengths.length / 32));
    for (const [id, length] of this.#lengths.entries()) {
      if (length <= numCharacters) mask[id >>> 5] = (mask[id >>> 5] ?? 0) | (1 << (id & 31));
    }
    if (this.#kept.size < MAX_KEPT) this.#kept.set(numCharacters, mask);
    return mask;
  }
}

/** Characters from the beginning of one; a backslash and what it escapes are one. */
function charactersOf(bytes: Uint8Array): number {
  let number = 0;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index] ?? 0;
    if ((byte & 0xc0) !== 0x80) number++;
    if (byte === BACKSLASH) index += bytes[index + 1] === 0x75 ? 5 : 1;
  }
  return number;
}

/** Bytes of GPT-2's characters, which are those of `byteLevel`. */
function byteOf(code: number): number {
  return code < 256 ? code : (MOVED[code - 256] ?? 0);
}

/** The bytes that are no printable characters, which have those from 256 on in order. */
const MOVED: readonly number[] = Array.from({ length: 256 }, (_, byte) => byte).filter(
  (byte) => byte < 0x21 || (byte > 0x7e && byte < 0xa1) || byte === 0xad,
);
