import { expect, test } from 'vitest';
import { byteLevel, grammarVocabulary } from '../../../src/front/grammars/grammar-vocabulary.ts';
import { TextTokenizer } from '../../../src/front/text/tokenizer.ts';
import { byteFallbackTokenizer, tokenizerWithDecoder } from '../../support/tokenizers.ts';

test('others have turns of the event loop while tokens are spelled out', async () => {
  const tokenizer = await TextTokenizer.load('models/summit');
  let turns = 0;
  const count = (): void => {
    turns++;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  const { tokens } = await grammarVocabulary(tokenizer, tokenizer.vocabSize);
  clearImmediate(next);
  expect(tokens).toHaveLength(tokenizer.vocabSize);
  expect(turns).toBeGreaterThanOrEqual(Math.floor(tokenizer.vocabSize / 1024) - 1);
  expect(turns).toBeGreaterThan(1);
});

test.each([
  ['as GPT-2 spells it', await TextTokenizer.load('models/summit')],
  // Some of its words are none of GPT-2's characters: their bytes are 0.
  ['as GPT-2 would, with other characters', tokenizerWithDecoder({ type: 'ByteLevel' })],
  ['as SentencePiece does', byteFallbackTokenizer()],
])(
  'a token is spelled by the bytes of its piece, where the vocabulary has it %s',
  async (_, tokenizer) => {
    const { tokens } = await grammarVocabulary(tokenizer, Infinity);
    const ids = tokens.map((_token, id) => id).filter((id) => !tokenizer.isSpecial(id));
    const byPiece = ids.map((id) => byteLevel(tokenizer.pieces.get(id) ?? ''));
    expect(ids.map((id) => tokens[id])).toEqual(byPiece);
  },
);
