import { expect, it } from 'vitest';
import { encodeBadWords } from '../../../src/front/text/bad-words.ts';
import { TextTokenizer } from '../../../src/front/text/tokenizer.ts';

it('encodes a word as at the start of a text and as within one', async () => {
  const tokenizer = await TextTokenizer.load('models/summit');
  const spell = (words: readonly string[]) =>
    encodeBadWords(tokenizer, words).map((ids) =>
      tokenizer.decode(ids, { skipSpecialTokens: false }),
    );
  expect(spell(['the'])).toEqual(['the', ' the']);
  expect(spell([' the'])).toEqual(['the', ' the']);
  expect(spell(['the', 'of'])).toEqual(['the', ' the', 'of', ' of']);
  // A space token of its own would only make it longer.
  const unusual = encodeBadWords(tokenizer, ['ξ']);
  expect(new Set(unusual.map(({ length }) => length)).size).toBe(1);
  expect(spell([' '])[0]).toBe(' ');
  expect(encodeBadWords(tokenizer, [])).toEqual([]);
});
