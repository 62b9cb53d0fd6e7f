/** Models of late interaction make the vectors and scores of PyLate. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { TEXT_BATCHING } from '../../src/front/batching/default-batching.ts';
import { TextModel } from '../../src/front/embedding/text-model.ts';
import { NEVER_ABORTED } from '../../src/front/never-aborted.ts';
import { orLong } from '../support/long-runs.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { cosine, largestDifference } from './support/encoders.ts';

const caller = { client: '', signal: NEVER_ABORTED };
const vectors = z.array(z.array(z.array(z.number())));

/** Output of scripts/references/late_interaction.py. */
const referenceSchema = z.object({
  queries: z.array(z.string()),
  documents: z.array(z.string()),
  queryVectors: vectors,
  documentVectors: vectors,
  scores: z.array(z.array(z.number())),
});

const folderOf = (name: string) =>
  fileURLToPath(new URL(`../fixtures/late-interaction/${name}`, import.meta.url));

async function referenceOf(name: string) {
  const text = await readFile(`${folderOf(name)}/reference.json`, 'utf8');
  return referenceSchema.parse(JSON.parse(text));
}

const opened = new Map<string, Promise<TextModel>>();

/** Each is opened once. */
async function open(name: string, precision: 'fp32' | 'int8' = 'fp32'): Promise<TextModel> {
  const key = `${name} ${precision}`;
  const model = opened.get(key) ?? start(name, precision);
  opened.set(key, model);
  return await model;
}

async function start(name: string, precision: 'fp32' | 'int8'): Promise<TextModel> {
  const model = await TextModel.open({
    folder: folderOf(name),
    precision,
    cacheDirectory: await temporaryDirectory(),
    threads: 1,
    tokenizerThreads: 1,
    runTimeoutMs: 60_000,
    batching: TEXT_BATCHING,
  });
  await model.start();
  return model;
}

afterAll(async () => {
  for (const model of opened.values()) await (await model).stop();
});

const NAMES = ['pylate', 'stanford', 'pylate-modernbert', 'pylate-unexpanded'];

describe.each(NAMES.slice(0, orLong(2, NAMES.length)))('%s', (name) => {
  it('makes the same vectors of queries and documents, and the same scores', async () => {
    const wanted = await referenceOf(name);
    const model = await open(name);
    expect(model.kind).toBe('late');
    const sides = [
      ['query', wanted.queries, wanted.queryVectors],
      ['document', wanted.documents, wanted.documentVectors],
    ] as const;
    for (const [promptName, texts, of] of sides) {
      const made = await model.embedTokens(texts, { promptName, truncate: true }, caller);
      expect(made.vectors.map(({ length }) => length / made.width)).toEqual(
        of.map(({ length }) => length),
      );
      for (const [row, each] of of.entries()) {
        expect(largestDifference(made.vectors[row] ?? [], each.flat())).toBeLessThan(2e-4);
      }
    }
    const pairs = wanted.queries.flatMap((query) =>
      wanted.documents.map((document) => [query, document] as const),
    );
    const { scores, logits } = await model.score(pairs, {}, caller);
    expect(largestDifference(scores, wanted.scores.flat())).toBeLessThan(5e-4);
    expect(logits).toEqual(scores);
  });

  it('is near them in int8', async () => {
    const { documents, documentVectors } = await referenceOf(name);
    const model = await open(name, 'int8');
    const { vectors: made } = await model.embedTokens(documents, { truncate: true }, caller);
    for (const [row, each] of documentVectors.entries()) {
      expect(cosine(made[row] ?? [], each.flat())).toBeGreaterThan(0.98);
    }
  });
});

it('says what such a model does not do, and what it does not take', async () => {
  const model = await open('pylate');
  await expect(model.embed(['a'], {}, caller)).rejects.toThrow(
    'the model gives vectors of tokens and makes no embeddings',
  );
  await expect(model.embedTokens([Int32Array.of(1)], {}, caller)).rejects.toThrow('takes texts');
  await expect(model.embedTokens(['a'], { promptName: 'x' }, caller)).rejects.toThrow(
    'the model has no prompt "x"; it has query, document',
  );
  const long = 'a '.repeat(30);
  const cut = { truncate: false };
  await expect(model.embedTokens(['a', long], cut, caller)).rejects.toThrow(
    'the text has 32 tokens; the model takes 19 at most',
  );
  const pairs = [['a', 'a'] as const, [long, long] as const];
  await expect(model.score(pairs, cut, caller)).rejects.toMatchObject({ index: 1 });
  expect((await model.score(pairs, {}, caller)).scores).toHaveLength(2);
});
