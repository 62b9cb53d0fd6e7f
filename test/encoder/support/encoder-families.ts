import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

export const ENCODER_FAMILIES = [
  'bert',
  'xlm-roberta',
  'distilbert',
  'mpnet',
  'modernbert',
  'nomic-bert',
  'gte',
  'deberta-v3',
  'deberta-v2',
  'embedding-gemma',
];

const rows = z.array(z.array(z.number()));

/** Output of scripts/references/encoder_families.py. */
const referenceSchema = z.object({
  /** By which head of the folder's they have. */
  architectures: z.object({
    body: z.string(),
    labels: z.string().optional(),
    words: z.string().optional(),
  }),
  texts: z.array(z.string()),
  ids: rows,
  pair: z.array(z.number()),
  pairSecondStart: z.number(),
  /** Vectors of each text's tokens. */
  tokens: z.array(rows),
  /** Values of each text, and of the pair. */
  logits: rows.default([]),
  /** Weights of all words, for each text. */
  words: rows.default([]),
  /** Scores of labels, in their order; of BERT alone. */
  zeroShot: z
    .object({
      texts: z.array(z.string()),
      labels: z.array(z.string()),
      template: z.string(),
      single: rows,
      multi: rows,
    })
    .optional(),
});

function folderOf(name: string): string {
  return fileURLToPath(new URL(`../../fixtures/encoder-families/${name}`, import.meta.url));
}

export async function familyReference(name: string) {
  const text = await readFile(join(folderOf(name), 'reference.json'), 'utf8');
  return referenceSchema.parse(JSON.parse(text));
}

/** A copy of a family's folder, as a model with that head. @param more what else config.json says */
export async function familyFolder(
  name: string,
  head: 'body' | 'labels' | 'words',
  more: object = {},
): Promise<string> {
  const folder = await temporaryDirectory();
  await cp(folderOf(name), folder, { recursive: true });
  const { architectures } = await familyReference(name);
  const path = join(folder, 'config.json');
  const config = z.looseObject({}).parse(JSON.parse(await readFile(path, 'utf8')));
  const changed = { ...config, architectures: [architectures[head]], ...more };
  await writeFile(path, JSON.stringify(changed));
  return folder;
}

/** The same with modules that make a sparse encoder of it. */
export async function sparseFolder(name: string): Promise<string> {
  const folder = await familyFolder(name, 'words');
  const types = ['MLMTransformer', 'SpladePooling'];
  const modules = types.map((type, at) => ({
    idx: at,
    name: String(at),
    path: at ? 'pool' : '',
    type,
  }));
  await writeFile(join(folder, 'modules.json'), JSON.stringify(modules));
  await mkdir(join(folder, 'pool'));
  await writeFile(join(folder, 'pool', 'config.json'), '{}');
  return folder;
}
