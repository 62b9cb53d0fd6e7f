import { expect, test } from 'vitest';
import { samplingOf } from '../../../src/serving/plan/sampling.ts';
import { settingsFrom } from '../../support/settings.ts';
import { samplingInWords } from '../../../src/cli/terminal/sampling-words.ts';

const RECOMMENDED = { temperature: 0.6, topP: 0.8, maxNewTokens: 100 };

const sampling = async (...words: string[]) =>
  samplingOf(RECOMMENDED, (await settingsFrom('serve', words)).options);

test('each flag goes before the JSON, and what nobody says is left open', async () => {
  expect(await sampling()).toEqual(RECOMMENDED);
  expect(await sampling('--temperature', '0', '--top-k', '5')).toEqual({
    ...RECOMMENDED,
    temperature: 0,
    topK: 5,
  });
  const json =
    '{"temperature": 0.5, "top_p": 0.9, "top_k": -1, "min_p": 0.1, "repetition_penalty": 1.1}';
  const all = {
    ...RECOMMENDED,
    temperature: 0.5,
    topP: 0.9,
    topK: -1,
    minP: 0.1,
    repetitionPenalty: 1.1,
  };
  expect(await sampling('--override-generation-config', json)).toEqual(all);
  expect(await sampling('--override-generation-config', json, '--temperature', '1')).toEqual({
    ...all,
    temperature: 1,
  });
});

test('nothing is taken of what the authors recommend, if an operator says so', async () => {
  const without = (...words: string[]) => sampling('--generation-config', 'vllm', ...words);
  expect(await without()).toEqual({});
  expect(await without('--override-generation-config', '{"top_k": 3}', '--min-p', '0.1')).toEqual({
    topK: 3,
    minP: 0.1,
  });
  expect(await sampling('--generation-config', 'auto')).toEqual(RECOMMENDED);
});

test.each([
  ['--generation-config', 'a-folder'],
  ['--temperature', '3'],
  ['--top-p', '0'],
  ['--min-p', '2'],
  ['--repetition-penalty', '0'],
  ['--override-generation-config', '{"temperatur": 1}'],
  ['--override-generation-config', '{"top_p": "0.5"}'],
  ['--override-generation-config', '[]'],
])('%s %s is refused', async (flag, value) => {
  await expect(sampling(flag, value)).rejects.toThrow(/: expected /);
});

test.each([
  [
    {},
    'temperature 0.8, top_k 40, top_p 0.95, min_p 0.05 in `run`, /api and /infill, temperature 1 elsewhere',
  ],
  [
    { temperature: 0.6, topP: 0.9 },
    'temperature 0.6, top_p 0.9; in `run`, /api and /infill also top_k 40, min_p 0.05',
  ],
  [
    { temperature: 0, topK: 0, topP: 1, minP: 0, repetitionPenalty: 1.1 },
    'temperature 0, top_k 0, top_p 1, min_p 0, repetition_penalty 1.1',
  ],
])('people are told which values hold where: %j', (own, words) => {
  expect(samplingInWords(own)).toBe(words);
});
