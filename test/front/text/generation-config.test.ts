import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  readBannedWords,
  readGenerationDefaults,
} from '../../../src/front/text/generation-config.ts';
import { ignoredRules } from '../../../src/front/text/ignored-rules.ts';
import { readEosTokenIds } from '../../../src/front/text/tokenizer-files.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const SUMMIT = { temperature: 0.6, topP: 0.9 };

test('defaults of sampling are read from a Hugging Face folder', async () => {
  expect(await readGenerationDefaults('models/summit')).toEqual(SUMMIT);
});

test('defaults of sampling are read from a GenAI folder', async () => {
  const folder = 'test/exports/genai';
  expect(await readGenerationDefaults(folder)).toMatchObject(SUMMIT);
  expect(await readEosTokenIds(folder)).toEqual([2, 0]);
});

test('of a multimodal model, those of its text model are read', async () => {
  const folder = await temporaryDirectory();
  const write = (config: object) => writeFile(join(folder, 'config.json'), JSON.stringify(config));
  await write({ text_config: { eos_token_id: [3, 4] } });
  expect(await readEosTokenIds(folder)).toEqual([3, 4]);
  await write({ eos_token_id: 1, text_config: { eos_token_id: [3, 4] } });
  expect(await readEosTokenIds(folder)).toEqual([1]);
});

test('a GenAI folder that does not sample has no defaults of sampling', async () => {
  const folder = await temporaryDirectory();
  const config = { model: { eos_token_id: 7 }, search: { do_sample: false, top_k: 50 } };
  await writeFile(join(folder, 'genai_config.json'), JSON.stringify(config));
  expect(await readGenerationDefaults(folder)).toEqual({});
  expect(await readEosTokenIds(folder)).toEqual([7]);
});

const folderOf = async (config: object) => {
  const folder = await temporaryDirectory();
  await writeFile(join(folder, 'generation_config.json'), JSON.stringify(config));
  return folder;
};

test('the length of answers and the tokens that none has are read', async () => {
  const config = { max_new_tokens: 512, suppress_tokens: [9, 8], bad_words_ids: [[2], [4, 5]] };
  const folder = await folderOf(config);
  expect(await readGenerationDefaults(folder)).toEqual({ maxNewTokens: 512 });
  expect(await readBannedWords(folder, [2])).toEqual(
    [[9], [8], [4, 5]].map((word) => Int32Array.from(word)),
  );
  expect(await readBannedWords(await folderOf({ suppress_tokens: null }), [])).toEqual([]);
  const many = Array.from({ length: 2 ** 14 + 1 }, (_, id) => id);
  for (const lists of [
    { suppress_tokens: many },
    { bad_words_ids: [many] },
    { bad_words_ids: many.map((id) => [id]) },
  ]) {
    await expect(readBannedWords(await folderOf(lists), [])).rejects.toThrow(/is damaged/);
  }
});

test('what would change texts and is not used is told, but nothing that is off', async () => {
  const on = { no_repeat_ngram_size: 3, forced_bos_token_id: 0, typical_p: 0.9, num_beams: 4 };
  expect(await ignoredRules(await folderOf({ ...on, length_penalty: 2 }))).toEqual([
    'generation_config.json also has no_repeat_ngram_size, num_beams, typical_p, forced_bos_token_id: not used, as in vLLM',
  ]);
  const off = { no_repeat_ngram_size: 0, typical_p: 1, num_beams: 1, sequence_bias: null };
  const used = { min_new_tokens: 0, begin_suppress_tokens: [], suppress_tokens: [1] };
  expect(await ignoredRules(await folderOf({ ...off, ...used }))).toEqual([]);
});
