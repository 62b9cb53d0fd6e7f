import type { LateInteraction, LateTexts } from '../../model/encoder/late-interaction.ts';
import { TokenizerError } from '../text/tokenizer-files.ts';
import type { EncodedText, EncoderTokenizer } from './encoder-tokenizer.ts';

/** Names of the two sides, which are also those of prompts. */
export type LateSide = 'query' | 'document';

/** A text's tokens, and which of their vectors count. */
export interface LateText extends EncodedText {
  readonly numSeen: number;
  /** Places of tokens, ascending. */
  readonly counted: Int32Array;
}

/** Queries and documents as a model of late interaction reads them, to the token as PyLate. */
export class LateReader {
  readonly #late: LateInteraction;
  readonly #prefixIds: Readonly<Record<LateSide, number | null>>;
  readonly #skipped: ReadonlySet<number>;
  readonly #fillId: number;

  /** @throws TokenizerError where the tokenizer lacks what the model wants */
  constructor(late: LateInteraction, tokenizer: EncoderTokenizer) {
    this.#late = late;
    const idOf = ({ prefix }: LateTexts) => (prefix === null ? null : requireId(tokenizer, prefix));
    this.#prefixIds = { query: idOf(late.query), document: idOf(late.document) };
    // A word that the tokenizer does not have is its unknown token, as there.
    const ids = late.skippedWords.map((word) => tokenizer.idOf(word) ?? tokenizer.unknownTokenId);
    this.#skipped = new Set(ids.filter((id) => id !== null));
    this.#fillId = tokenizer.fillTokenId;
  }

  /** Tokens of a text before its prefix, special ones included. */
  maxTokens(side: LateSide, longest: number): number {
    const numOfPrefix = this.#prefixIds[side] === null ? 0 : 1;
    return Math.min(this.#late[side].length, longest) - numOfPrefix;
  }

  /** @param text of at most `maxTokens` @param longest as there */
  read({ ids }: EncodedText, side: LateSide, longest: number): LateText {
    const prefixId = this.#prefixIds[side];
    const whole = prefixId === null ? [...ids] : [...ids.slice(0, 1), prefixId, ...ids.slice(1)];
    const numTokens = whole.length;
    if (side === 'query' && this.#late.expandsQueries) {
      const length = Math.min(this.#late.query.length, longest);
      while (whole.length < length) whole.push(this.#fillId);
    }
    const isCounted = (id: number) => side === 'query' || !this.#skipped.has(id);
    const counted = [...whole.keys()].filter((place) => isCounted(whole[place] ?? 0));
    return {
      ids: Int32Array.from(whole),
      secondStart: whole.length,
      numSeen: this.#late.seesExpansion ? whole.length : numTokens,
      counted: Int32Array.from(counted),
    };
  }
}

/** Vectors of the places that count, one after the other. @param all [tokens, width] */
export function countedVectors(
  all: Float32Array,
  { counted }: LateText,
  width: number,
): Float32Array {
  const kept = new Float32Array(counted.length * width);
  for (const [row, place] of counted.entries()) {
    kept.set(all.subarray(place * width, (place + 1) * width), row * width);
  }
  return kept;
}

function requireId(tokenizer: EncoderTokenizer, token: string): number {
  const id = tokenizer.idOf(token);
  if (id !== null) return id;
  throw new TokenizerError(
    `the tokenizer has no token "${token}", which the model's texts begin with`,
  );
}
