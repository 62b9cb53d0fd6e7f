/**
 * OpenAI's Whisper tiny.en in a server, against Transformers in float32 on the same sounds, which espeak-ng drew;
 * see scripts/references/real_whisper.py and scripts/real-models.
 */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { needs } from '../support/needs.ts';
import { REAL_WHISPER, REAL_WHISPER_PATH } from '../support/real-model.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';

const FOLDER = fileURLToPath(new URL('../fixtures/real-models/whisper-tiny.en', import.meta.url));
const word = z.object({
  word: z.string().transform((text) => text.trim()),
  start: z.number(),
  end: z.number(),
});
const segment = z.object({
  start: z.number(),
  end: z.number(),
  tokens: z.array(z.int()),
  words: z.array(word),
});
/** Seconds of a position. */
const STEP = 0.02;
const answer = z.looseObject({
  text: z.string(),
  segments: z.array(z.unknown()),
  words: z.array(word),
});
const { cases } = z
  .object({
    cases: z.array(z.object({ sound: z.string(), text: z.string(), segments: z.array(segment) })),
  })
  .parse(JSON.parse(await readFile(`${FOLDER}/reference.json`, 'utf8')));

describe('Whisper tiny.en', needs(REAL_WHISPER), () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await startServer(['--model', REAL_WHISPER_PATH, '--precision', 'fp32']);
  });
  afterAll(() => server.stop());

  it.each(cases)('hears what Transformers hears: $text', async ({ sound, text, segments }) => {
    const body = new FormData();
    body.append('file', new Blob([await readFile(`${FOLDER}/${sound}`)]), sound);
    body.append('response_format', 'verbose_json');
    for (const each of ['segment', 'word']) body.append('timestamp_granularities[]', each);
    const url = `${server.url}/v1/audio/transcriptions`;
    const response = await fetch(url, { method: 'POST', body });
    const made = answer.parse(await response.json());
    expect(made).toMatchObject({
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
  });
});
