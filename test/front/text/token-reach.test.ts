import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxTokenCharacters } from '../../../src/front/text/token-reach.ts';
import { TextTokenizer } from '../../../src/front/text/tokenizer.ts';
import { byteFallbackTokenizer, metaspaceTokenizer } from '../../support/tokenizers.ts';

const TOKENIZERS = {
  summit: await TextTokenizer.load('models/summit'),
  foothill: await TextTokenizer.load('models/foothill'),
  'bytes for what is missing': byteFallbackTokenizer(),
};

describe.each(Object.entries(TOKENIZERS))('%s', (_, tokenizer) => {
  it('has no token of more characters', () => {
    expect(tokenizer.maxTokenCharacters).toBeLessThan(100);
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'grapheme', maxLength: 100 }),
      fc.lorem(),
      fc.nat(200).map((count) => ' '.repeat(count)),
      fc.constantFrom('<|im_start|>', '<|endoftext|><|endoftext|>', '<s>'),
    );
    fc.assert(
      fc.property(text, (value) => {
        const { length } = tokenizer.encode(value, { addSpecialTokens: false });
        expect(value.length).toBeLessThanOrEqual(length * tokenizer.maxTokenCharacters);
      }),
      { numRuns: 500 },
    );
  });
});

const BYTES = Object.fromEntries(
  Array.from({ length: 256 }, (_, id) => [String.fromCodePoint(0x100 + id), id]),
);
const FILE = {
  model: { type: 'BPE', vocab: { ...BYTES, '\u0120word': 256 } },
  added_tokens: [{ content: '<|end|>' }],
  normalizer: null,
  pre_tokenizer: { type: 'ByteLevel' },
};

describe('the most characters of a token', () => {
  it.each([
    ['the longest of all', FILE, 7],
    ['with the longest word', { ...FILE, added_tokens: [] }, 5],
    ['with composition', { ...FILE, normalizer: { type: 'NFC' } }, 28],
    [
      'with what is made shorter',
      { ...FILE, normalizer: { type: 'Replace', pattern: { String: '...' }, content: '.' } },
      21,
    ],
    [
      'where a pattern may take any length',
      { ...FILE, normalizer: { type: 'Replace', pattern: { Regex: ' +' }, content: ' ' } },
      Infinity,
    ],
    ['where spaces are stripped', { ...FILE, normalizer: { type: 'Strip' } }, Infinity],
    ['around a token', { ...FILE, added_tokens: [{ content: 'x', rstrip: true }] }, Infinity],
    [
      'where words are parted by what is removed',
      { ...FILE, pre_tokenizer: { type: 'Split', behavior: 'Removed' } },
      Infinity,
    ],
    ['where bytes are missing', { ...FILE, model: { type: 'BPE', vocab: { a: 0 } } }, Infinity],
    ['of another kind', { ...FILE, model: { type: 'Unigram', vocab: [] } }, Infinity],
  ])('are found in the tokenizer: %s', (_, file, expected) => {
    expect(maxTokenCharacters(file)).toBe(expected);
  });

  it('is not known where characters may be left out', () => {
    expect(metaspaceTokenizer().maxTokenCharacters).toBe(Infinity);
  });
});
