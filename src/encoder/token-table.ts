/** Lays texts' tokens out as graphs take them: as a table with padding, and one after the other. */
import type { TokenInput } from './process/protocol.ts';

/** A batch of texts as a table, each text at the left of its row. */
export interface TokenTable {
  readonly batch: number;
  /** Tokens of the longest text. */
  readonly seq: number;
}

export function tableOf(texts: readonly TokenInput[]): TokenTable {
  return { batch: texts.length, seq: Math.max(...texts.map(({ ids }) => ids.length)) };
}

/**
 * Values of the table's places.
 * @param padding at places that no token has
 * @param valueOf a token by its place in its text
 */
export function paddedValues(
  texts: readonly TokenInput[],
  padding: number,
  valueOf: (text: TokenInput, place: number) => number,
): BigInt64Array<ArrayBuffer> {
  const { batch, seq } = tableOf(texts);
  const values = new BigInt64Array(batch * seq).fill(BigInt(padding));
  for (const [row, text] of texts.entries()) {
    for (let place = 0; place < text.ids.length; place++) {
      values[row * seq + place] = BigInt(valueOf(text, place));
    }
  }
  return values;
}

/** Values of the tokens, one text after the other. */
export function packedValues(
  texts: readonly TokenInput[],
  valueOf: (text: TokenInput, place: number, row: number) => number,
): BigInt64Array<ArrayBuffer> {
  const values = new BigInt64Array(numTokens(texts));
  let at = 0;
  for (const [row, text] of texts.entries()) {
    for (let place = 0; place < text.ids.length; place++) {
      values[at++] = BigInt(valueOf(text, place, row));
    }
  }
  return values;
}

/** Where the packed tokens of each text begin. */
export function textStarts(texts: readonly TokenInput[]): number[] {
  let start = 0;
  return texts.map(({ ids }) => {
    const own = start;
    start += ids.length;
    return own;
  });
}

export function numTokens(texts: readonly TokenInput[]): number {
  return texts.reduce((sum, { ids }) => sum + ids.length, 0);
}

export function typeOf({ secondStart }: TokenInput, place: number): number {
  return place < secondStart ? 0 : 1;
}
