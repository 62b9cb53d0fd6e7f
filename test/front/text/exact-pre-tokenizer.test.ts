/** Words of pre-tokenizers as Python's `tokenizers` 0.23.3 cuts them: what a byte-level tokenizer makes of them. */
import { expect, test } from 'vitest';
import { TextTokenizer } from '../../../src/front/text/tokenizer.ts';

const BYTE_LEVEL = {
  type: 'ByteLevel',
  add_prefix_space: false,
  trim_offsets: true,
  use_regex: true,
};
const digits = (individual: boolean) => ({
  type: 'Sequence',
  pretokenizers: [{ type: 'Digits', individual_digits: individual }, BYTE_LEVEL],
});

/** A step, and bytes of its pieces. */
const before = (step: object) => ({
  type: 'Sequence',
  pretokenizers: [
    { invert: false, ...step },
    { ...BYTE_LEVEL, use_regex: false },
  ],
});
const MERGED = ['Ġ1', 'Ġ', 'Ġ', '12'];

/** Tokenizer of GPT-2's letters for bytes, and pairs that cross what may be the border of a word. */
function tokenizerWith(preTokenizer: unknown): TextTokenizer {
  const bytes = Array.from({ length: 256 }, (_, byte) => {
    const isShown = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
    return isShown ? String.fromCharCode(byte) : null;
  });
  let next = 256;
  const letters = bytes.map((letter) => letter ?? String.fromCharCode(next++));
  const pairs = ['Ġ Â', 'Â ½', 'Ġ ï', 'Ġ Ġ', '1 2', 'Ġ 1', '» ¿', 'ï »¿', 'Ù £', '. .'];
  const vocab = [...letters, ...pairs.map((pair) => pair.replace(' ', ''))];
  return new TextTokenizer({
    tokenizer: {
      model: {
        type: 'BPE',
        vocab: Object.fromEntries(vocab.map((token, id) => [token, id])),
        merges: pairs,
      },
      pre_tokenizer: preTokenizer,
      decoder: { type: 'ByteLevel' },
    },
  });
}

test.each([
  [digits(true), ' ½', ['Ġ', 'Â½']],
  [digits(true), 'a12 1', ['a', '1', '2', 'Ġ', '1']],
  [digits(true), ' ٣', ['Ġ', 'Ù£']],
  [digits(false), 'a12 12', ['a', '12', 'Ġ', '12']],
  [BYTE_LEVEL, ' ½', ['ĠÂ', '½']],
  [BYTE_LEVEL, 'a12 12', ['a', '12', 'Ġ', '12']],
  // A byte order mark is no space: it is a word with the space before it.
  [BYTE_LEVEL, '  \ufeff', ['Ġ', 'Ġï', '»¿']],
  [BYTE_LEVEL, 'a \ufeff', ['a', 'Ġï', '»¿']],
  [
    before({ type: 'Split', pattern: { String: ' ' }, behavior: 'MergedWithNext' }),
    ' 1  12',
    MERGED,
  ],
  [
    before({ type: 'Split', pattern: { Regex: '\\s' }, behavior: 'MergedWithNext' }),
    ' 1  12',
    MERGED,
  ],
  [
    before({ type: 'Split', pattern: { String: '.' }, behavior: 'Contiguous' }),
    '1..12',
    ['1', '..', '12'],
  ],
  [
    before({ type: 'Split', pattern: { Regex: '\\d' }, behavior: 'Contiguous' }),
    '.12',
    ['.', '12'],
  ],
  [before({ type: 'Punctuation' }), '1..', ['1', '.', '.']],
  [before({ type: 'Punctuation', behavior: 'Isolated' }), '..1', ['.', '.', '1']],
  [before({ type: 'Punctuation', behavior: 'Contiguous' }), '..1', ['..', '1']],
])('%j makes of %j %j', (preTokenizer, text, tokens) => {
  const tokenizer = tokenizerWith(preTokenizer);
  const ids = [...tokenizer.encode(text, { addSpecialTokens: false })];
  expect(ids.map((id) => tokenizer.idToToken(id))).toEqual(tokens);
});
