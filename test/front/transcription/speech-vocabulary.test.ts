import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readSpeechVocabulary } from '../../../src/front/transcription/speech-vocabulary.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const IDS = new Map([
  ['<|endoftext|>', 100],
  ['<|startoftranscript|>', 101],
  ['<|en|>', 102],
  ['<|de|>', 103],
  ['<|translate|>', 104],
  ['<|transcribe|>', 105],
  ['<|startofprev|>', 106],
  ['<|nocaptions|>', 107],
  ['<|notimestamps|>', 108],
]);

async function read(generation: object, ids: ReadonlyMap<string, number> = IDS, vocabSize = 200) {
  const folder = await temporaryDirectory();
  await writeFile(join(folder, 'generation_config.json'), JSON.stringify(generation));
  await writeFile(join(folder, 'config.json'), JSON.stringify({ suppress_tokens: [7] }));
  const tokenizer = { tokenToId: (token: string) => ids.get(token), eosTokenIds: [100] };
  return readSpeechVocabulary(folder, tokenizer, vocabSize);
}

test('tokens are found by name, and what is suppressed where the model has it', async () => {
  const made = await read({ begin_suppress_tokens: [1, -1, 999], max_initial_timestamp_index: 5 });
  expect(made.tokens).toMatchObject({ endOfText: 100, firstTimestamp: 109, translate: 104 });
  expect([...made.tokens.languages]).toEqual([
    ['en', 102],
    ['de', 103],
  ]);
  expect(made).toMatchObject({ noSpeech: 107, maxInitialTimestamp: 5 });
  expect([...made.suppressed, ...made.suppressedFirst]).toEqual([7, 1]);
});

test('a model of English alone has no languages, though its tokenizer has', async () => {
  for (const made of [await read({ is_multilingual: false }), await read({}, IDS, 51_864)]) {
    expect(made.tokens.languages.size).toBe(0);
    expect(made.tokens).toMatchObject({ transcribe: null, translate: null });
  }
});

test('a tokenizer that is not one of speech is refused by name', async () => {
  const without = new Map([...IDS].filter(([name]) => name !== '<|notimestamps|>'));
  await expect(read({}, without)).rejects.toThrow('has no <|notimestamps|>');
  await expect(read({}, new Map([...IDS, ['<|startofprev|>', 5]]))).rejects.toThrow('order');
  await expect(read({ suppress_tokens: 'all' })).rejects.toThrow('generation_config.json');
});
