/** The vision model of our own reads drawings that it was not trained on. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadModel } from '../../src/serving/in-process/load-model.ts';
import { orLong } from '../support/long-runs.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const FOLDER = fileURLToPath(new URL('../fixtures/lookout', import.meta.url));
const DRAWINGS = new URL('../fixtures/drawings/', import.meta.url);
const GREEDY = { temperature: 0, maxTokens: 12 };
const END = '<end_of_utterance>';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const drawings = z
  .array(z.object({ file: z.string(), question: z.string(), answer: z.string() }))
  .parse(JSON.parse(await readFile(new URL('answers.json', DRAWINGS), 'utf8')));
const { prompts } = z
  .object({
    prompts: z.array(
      z.object({ image: z.string(), question: z.string(), greedy_text: z.string() }),
    ),
  })
  .parse(JSON.parse(await readFile(`${FOLDER}/reference.json`, 'utf8')));

/** Answers to questions about files, all at once. */
async function answers(
  precision: 'fp32' | 'int8',
  asked: readonly { readonly file: string; readonly question: string }[],
): Promise<string[]> {
  const settings = { precision, visionPrecision: precision, cacheDir: cache.path } as const;
  await using model = await loadModel(FOLDER, settings);
  return await Promise.all(
    asked.map(async ({ file, question }) => {
      const image = await readFile(new URL(file, DRAWINGS));
      const content = [
        { type: 'image', image },
        { type: 'text', text: question },
      ] as const;
      return model.generate([{ role: 'user', content }], GREEDY);
    }),
  );
}

describe('lookout', () => {
  it('says in fp32 what Transformers says', async () => {
    const asked = prompts.map(({ image, question }) => ({ file: image, question }));
    const said = await answers('fp32', asked);
    expect(said).toEqual(prompts.map((prompt) => prompt.greedy_text.replace(END, '')));
  });

  it('reads nearly all drawings in int8', async () => {
    expect(drawings).toHaveLength(60);
    const asked = drawings.slice(0, orLong(20, 60));
    const said = await answers('int8', asked);
    const wrong = asked.filter(({ answer }, at) => said[at] !== answer);
    expect(wrong.length, JSON.stringify(wrong)).toBeLessThan(asked.length / 10);
  });
});
