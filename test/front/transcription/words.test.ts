/** Against Transformers: scripts/references/word_times.py wrote its words of texts. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { TextTokenizer } from '../../../src/front/text/tokenizer.ts';
import { splitWords } from '../../../src/front/transcription/words.ts';

interface References {
  readonly words: readonly {
    readonly language: string;
    readonly text: string;
    readonly words: readonly (readonly [word: string, start: number, end: number])[];
  }[];
}

const FOLDER = fileURLToPath(new URL('../../fixtures/speech', import.meta.url));
const { words } = JSON.parse(await readFile(`${FOLDER}/word-times.json`, 'utf8')) as References;
const CODES: Readonly<Record<string, string>> = {
  english: 'en',
  german: 'de',
  japanese: 'ja',
  chinese: 'zh',
};
const tokenizer = await TextTokenizer.load(`${FOLDER}/spoken`);

test.each(words)('words of $language: $text', ({ language, text, words: expected }) => {
  const ids = [...tokenizer.encode(text, { addSpecialTokens: false })];
  const decode = (some: readonly number[]) => tokenizer.decode(some, { skipSpecialTokens: true });
  const found = splitWords(ids, CODES[language] ?? '', decode);
  expect(found.map(({ text: word, start, end }) => [word, start, end])).toEqual(expected);
});

test('no tokens have no words', () => {
  expect(splitWords([], 'en', () => '')).toEqual([]);
});
