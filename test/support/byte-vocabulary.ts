import { byteLevel } from '../../src/front/grammars/grammar-vocabulary.ts';
import type { GrammarVocabulary } from '../../src/grammar/grammar-spec.ts';

/** Pieces that cross the borders of JSON's parts, of escapes and of characters. */
const PIECES = [
  ...['{"', '": ', '": "', '", "', '"]', '"}', '""', '"a', 'a"', '["', '[]', '{}', '"}]', '"a"'],
  ...['": {"', '": [', ', "', '\\"', '\\\\', '\\n', '\\u00', '\\u', '41', 'n"', '"b": ', 'a\\'],
  ...[
    '\\\\"',
    'u0041',
    'aa',
    'bbbb',
    'é',
    'éa',
    '😀',
    '😀"',
    'é\\',
    'true',
    'null',
    '    ',
    '<t',
    '</t>',
  ],
  ...['</t>\n\n{"', '"name', 'abcdefghij', '日本', '日本語"', '"\\', '\\""'],
];

/** Halves of characters, as byte-level vocabularies have them. */
const HALVES = [
  [0xf0, 0x9f],
  [0x98, 0x80],
  [0x9f, 0x98, 0x80, 0x22],
  [0x61, 0xc3],
  [0xa9, 0x22],
];

/** The tokens' bytes, by id; the last one ends a text and has none. */
export const TOKEN_BYTES: readonly Uint8Array[] = [
  ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
  ...PIECES.map((piece) => Buffer.from(piece)),
  ...HALVES.map((bytes) => Uint8Array.from(bytes)),
  new Uint8Array(),
];

export const END = TOKEN_BYTES.length - 1;

/** Every byte is a token, so every text can be written in many ways. */
export const BYTE_VOCABULARY: GrammarVocabulary = {
  tokens: TOKEN_BYTES.map((bytes) => byteLevel(bytes)),
  vocabSize: TOKEN_BYTES.length + 3,
  eosTokenIds: [END],
};

/** @param isWhole whether half a character is an error */
export function textOfBytes(tokenIds: readonly number[], isWhole = true): string {
  const bytes = tokenIds.map((tokenId) => TOKEN_BYTES[tokenId] ?? new Uint8Array());
  return new TextDecoder('utf-8', { fatal: isWhole }).decode(Buffer.concat(bytes));
}

/** The text's tokens. @param draw a number below the given one: which of the tokens that fit comes next */
export function tokensOfText(text: string, draw: (below: number) => number): number[] {
  const bytes = Buffer.from(text);
  const tokenIds: number[] = [];
  for (let at = 0; at < bytes.length;) {
    const fitting = [...TOKEN_BYTES.keys()].filter((id) => {
      const token = TOKEN_BYTES[id] ?? new Uint8Array();
      return token.length > 0 && bytes.subarray(at, at + token.length).equals(token);
    });
    const next = fitting[draw(fitting.length)] ?? 0;
    tokenIds.push(next);
    at += TOKEN_BYTES[next]?.length ?? 1;
  }
  return tokenIds;
}
