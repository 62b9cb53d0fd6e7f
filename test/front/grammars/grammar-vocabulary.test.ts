import { expect, test } from 'vitest';
import { grammarVocabulary } from '../../../src/front/grammars/grammar-vocabulary.ts';
import { TextTokenizer } from '../../../src/front/text/tokenizer.ts';

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
