import type { GrammarVocabulary } from '../../src/grammar/grammar-spec.ts';

/** Printable ASCII, one character per token, then pieces that cross the borders of JSON's parts. */
const PIECES = [
  '{"',
  '": ',
  '", "',
  '"}',
  '"]',
  ', ',
  '[]',
  '{}',
  'true',
  'null',
  '12',
  '\\n',
  'é',
];
const CHARACTERS = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index));

/** The tokens' texts, in order of id; the last one ends a text and has none. */
export const TOKEN_TEXTS: readonly string[] = [...CHARACTERS, ...PIECES, '\n', '\t', ''];
export const EOS = TOKEN_TEXTS.length - 1;

/** A small vocabulary whose logits have two places more than there are tokens. */
export const VOCABULARY: GrammarVocabulary = {
  tokens: TOKEN_TEXTS.map(byteLevel),
  vocabSize: TOKEN_TEXTS.length + 2,
  eosTokenIds: [EOS],
};

export function textOf(tokenIds: Iterable<number>): string {
  return Array.from(tokenIds, (tokenId) => TOKEN_TEXTS[tokenId] ?? '').join('');
}

/** GPT-2's stand-ins for bytes, as far as the tokens above have them. */
function byteLevel(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => {
    if (byte === 0x20) return 'Ġ';
    if (byte === 0x0a) return 'Ċ';
    if (byte === 0x09) return 'ĉ';
    return String.fromCharCode(byte);
  }).join('');
}
