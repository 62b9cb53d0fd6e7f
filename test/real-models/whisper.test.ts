/**
 * Whispers that OpenAI trained (tiny.en, and base for other languages) in a server, against Transformers in float32
 * on the same sounds, which espeak-ng drew; see scripts/references/real_whisper.py and scripts/real-models.
 */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { LANGUAGES } from '../../src/front/transcription/languages.ts';
import { needs } from '../support/needs.ts';
import {
  REAL_WHISPER,
  REAL_WHISPER_BASE,
  REAL_WHISPER_BASE_PATH,
  REAL_WHISPER_PATH,
} from '../support/real-model.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';

const word = z.object({
  word: z.string().transform((text) => text.trim()),
  start: z.number(),
  end: z.number(),
});
const segment = z.object({ start: z.number(), end: z.number(), tokens: z.array(z.int()) });
const timed = segment.extend({ words: z.array(word) });
const reference = z.object({
  cases: z.array(
    z.object({
      sound: z.string(),
      /** Code that was found out; a model of English alone finds out none. */
      language: z.string().default('en'),
      text: z.string(),
      segments: z.array(timed),
      translation: z.object({ text: z.string(), segments: z.array(segment) }).optional(),
    }),
  ),
});
/** Seconds of a position. */
const STEP = 0.02;
const answer = z.looseObject({
  text: z.string(),
  segments: z.array(z.unknown()),
  words: z.array(word),
});

async function referenceOf(model: string) {
  const folder = fileURLToPath(new URL(`../fixtures/real-models/${model}`, import.meta.url));
  const { cases } = reference.parse(JSON.parse(await readFile(`${folder}/reference.json`, 'utf8')));
  return { folder, cases };
}

const MODELS = [
  {
    name: 'tiny.en',
    path: REAL_WHISPER_PATH,
    requirement: REAL_WHISPER,
    ...(await referenceOf('whisper-tiny.en')),
  },
  {
    name: 'base',
    path: REAL_WHISPER_BASE_PATH,
    requirement: REAL_WHISPER_BASE,
    ...(await referenceOf('whisper-base')),
  },
];

for (const { name, path, requirement, folder, cases } of MODELS) {
  describe(`Whisper ${name}`, needs(requirement), () => {
    let server: ServerProcess;
    beforeAll(async () => {
      server = await startServer(['--model', path, '--precision', 'fp32']);
    });
    afterAll(() => server.stop());

    async function ask(route: string, sound: string, granularities: readonly string[]) {
      const body = new FormData();
      body.append('file', new Blob([await readFile(`${folder}/${sound}`)]), sound);
      body.append('response_format', 'verbose_json');
      for (const each of granularities) body.append('timestamp_granularities[]', each);
      const response = await fetch(`${server.url}/v1/audio/${route}`, { method: 'POST', body });
      return await response.json();
    }

    it.each(cases)(
      'hears what Transformers hears: $text',
      async ({ sound, language, text, segments }) => {
        const made = answer.parse(await ask('transcriptions', sound, ['segment', 'word']));
        expect(made).toMatchObject({
          language: LANGUAGES.get(language),
          text,
          segments: segments.map(({ start, end, tokens }) => ({ start, end, tokens })),
        });
        const expected = segments.flatMap(({ words }) => words);
        expect(made.words.map((each) => each.word)).toEqual(expected.map((each) => each.word));
        const far = made.words.flatMap(({ start, end }, at) => [
          Math.abs(start - (expected[at]?.start ?? 0)),
          Math.abs(end - (expected[at]?.end ?? 0)),
        ]);
        expect(Math.max(...far)).toBeLessThan(STEP + 1e-6);
      },
    );

    it.each(cases.filter(({ translation }) => translation !== undefined))(
      'translates what Transformers translates: $text',
      async ({ sound, translation }) => {
        expect(await ask('translations', sound, ['segment'])).toMatchObject({ ...translation });
      },
    );
  });
}
