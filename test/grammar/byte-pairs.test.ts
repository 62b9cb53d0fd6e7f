import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { grammarVocabulary } from '../../src/front/grammars/grammar-vocabulary.ts';
import { TextTokenizer } from '../../src/front/text/tokenizer.ts';
import { BytePairs } from '../../src/grammar/byte-pairs.ts';

const tokenizer = await TextTokenizer.load('models/summit');
const { tokens } = await grammarVocabulary(tokenizer, 4096);
const bytePairs = new BytePairs(tokens);

/** In the characters of the vocabulary. */
const mapped = (text: string) => text.replaceAll(' ', 'Ġ').replaceAll('\n', 'Ċ');

describe('byte pairs', () => {
  it.each([
    '{"full_name": "',
    ', "shipping_address": {"street": "',
    '"created_at": [1, 2',
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "',
  ])('part %j as the tokenizer does', (text) => {
    const expected = tokenizer.encode(text, { addSpecialTokens: false });
    expect(bytePairs.encode(mapped(text))).toEqual([...expected]);
  });

  it('part any text, into as few tokens as merges make', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...Array.from('abeinrst_": 01<>/')), maxLength: 60 }),
        (text) => {
          const pieces = bytePairs.encode(mapped(text)).map((id) => tokens[id] ?? '');
          expect(pieces.join('')).toBe(mapped(text));
          for (const [at, piece] of pieces.slice(1).entries()) {
            expect(tokens).not.toContain(`${pieces[at]}${piece}`);
          }
        },
      ),
    );
  });

  it('end before what no token is for', () => {
    expect(new BytePairs(['a', 'b', 'ab']).encode('abaxab')).toEqual([2, 0]);
  });
});
