import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readGenerationDefaults } from '../../../src/front/text/generation-config.ts';
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
