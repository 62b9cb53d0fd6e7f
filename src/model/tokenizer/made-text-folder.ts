/** Folders with the tokenizer.json of models that have their tokenizer in another form. */
import { createHash } from 'node:crypto';
import { copyFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { explainZod } from '../../explain-zod.ts';
import { fileExists } from '../../files/file-exists.ts';
import { otherTokenizers } from '../../files/other-tokenizers.ts';
import { readBounded } from '../../files/read-bounded.ts';
import { standIn, START_BYTES } from '../../files/stand-in.ts';
import { meaningOf } from '../../files/system-error.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { keepFolder } from '../cache/kept-folder.ts';
import { readJson } from '../huggingface/json-file.ts';
import { ModelError } from '../model-error.ts';
import { fromMerges } from './from-merges.ts';
import { fromSentencePiece } from './from-sentencepiece.ts';
import { fromTekken } from './from-tekken.ts';
import { fromTiktoken } from './from-tiktoken.ts';
import { fromWordList } from './from-word-list.ts';
import { type MadeTokenizer, UnknownForm } from './made-tokenizer.ts';
import { readSettings, SETTINGS_FILES, type TextSettings } from './text-settings.ts';

/** Raised when what is made changes, so that folders of older versions are not used. */
const VERSION = 1;

const TOKENIZER = 'tokenizer.json';
const CONFIG = 'tokenizer_config.json';

/** Files beside the tokenizer that say how it is used. */
const OTHERS = [
  'special_tokens_map.json',
  'config.json',
  'generation_config.json',
  'chat_template.json',
  'chat_template.jinja',
  'genai_config.json',
];

interface Form {
  readonly files: readonly [string, ...string[]];
  readonly make: (folder: string, settings: TextSettings, path: string) => Promise<MadeTokenizer>;
}

const tiktoken = (name: string): Form => ({
  files: [name],
  make: async (_, settings, path) => fromTiktoken((await bytesOf(path)).toString(), settings, path),
});

const sentencePiece = (name: string): Form => ({
  files: [name],
  make: async (_, settings, path) => fromSentencePiece(await bytesOf(path), settings, path),
});

/** Forms by their files, the first that a model has counts. */
const FORMS: readonly Form[] = [
  {
    files: ['tekken.json'],
    make: async (_, settings, path) => fromTekken(await readJson(path), settings, path),
  },
  tiktoken('tiktoken.model'),
  tiktoken('hy.tiktoken'),
  sentencePiece('tokenizer.model'),
  sentencePiece('spiece.model'),
  {
    files: ['vocab.json', 'merges.txt'],
    make: async (folder, settings, path) => {
      const merges = (await bytesOf(join(folder, 'merges.txt'))).toString();
      return fromMerges(await readJson(path), merges, settings, path);
    },
  },
  {
    files: ['vocab.txt'],
    make: async (_, settings, path) =>
      fromWordList((await bytesOf(path)).toString(), settings, path),
  },
];

/** Files of which a tokenizer.json can be made, with those that say how. */
export const TOKENIZER_FILES: ReadonlySet<string> = new Set([
  ...FORMS.flatMap(({ files }) => files),
  ...SETTINGS_FILES,
]);

/**
 * Makes the tokenizer.json of a model that has none, in a folder of the cache with the files that go with it; or
 * finds it made.
 * @param folder of the model
 * @returns the folder with tokenizer.json: the model's own if it has one, or nothing that it could be made of
 * @throws {ModelError} if what it would be made of is damaged or not supported, or the disk is full
 */
export async function madeTextFolder(folder: string, cacheDirectory: string): Promise<string> {
  if (await fileExists(join(folder, TOKENIZER))) return folder;
  const form = await formOf(folder);
  if (form === null) return folder;
  const made = join(cacheDirectory, 'made-tokenizers', `v${VERSION}-${await hashOf(folder, form)}`);
  if (await fileExists(made)) return made;
  const { json, config } = await makeTokenizer(folder, form);
  const own = (await fileExists(join(folder, CONFIG))) ? await readJson(join(folder, CONFIG)) : {};
  await keepFolder(cacheDirectory, made, 'the tokenizer', async (unfinished) => {
    await writeFile(join(unfinished, TOKENIZER), JSON.stringify(json));
    const merged = { ...config, ...z.looseObject({}).parse(own) };
    await writeFile(join(unfinished, CONFIG), JSON.stringify(merged));
    for (const name of OTHERS) {
      if (await fileExists(join(folder, name)))
        await copyFile(join(folder, name), join(unfinished, name));
    }
  });
  return made;
}

/**
 * Sees whether a folder has a tokenizer, whatever its form; one that is made is kept.
 * @throws {ModelError} if it has one that can't be used, saying why and what to do
 */
export async function requireTokenizer(folder: string, cacheDirectory: string): Promise<void> {
  const made = await madeTextFolder(folder, cacheDirectory);
  if (await fileExists(join(made, TOKENIZER))) return;
  const others = otherTokenizers(await readdir(folder));
  if (others !== null) throw new ModelError(`${folder} has no ${TOKENIZER}; ${others}`);
}

async function formOf(folder: string): Promise<Form | null> {
  for (const form of FORMS) {
    const found = await Promise.all(form.files.map((name) => fileExists(join(folder, name))));
    if (found.every(Boolean)) return form;
  }
  return null;
}

async function makeTokenizer(folder: string, { files, make }: Form): Promise<MadeTokenizer> {
  const path = join(folder, files[0]);
  try {
    return await make(folder, await readSettings(folder), path);
  } catch (error) {
    if (error instanceof z.ZodError) {
      throw new ModelError(`${path} or a file beside it is damaged: ${explainZod(error)}`, {
        cause: error,
      });
    }
    if (!(error instanceof UnknownForm)) throw error;
    const others = otherTokenizers(files) ?? '';
    throw new ModelError(`${path} can't be read, since ${error.message}; ${others}`, {
      cause: error,
    });
  }
}

async function hashOf(folder: string, { files }: Form): Promise<string> {
  const hash = createHash('sha256');
  for (const name of [...new Set([...files, ...SETTINGS_FILES, ...OTHERS])]) {
    const path = join(folder, name);
    const bytes = (await fileExists(path)) ? await bytesOf(path) : null;
    hash.update(`${name} ${bytes?.length ?? -1}\n`).update(bytes ?? '');
  }
  return hash.digest('hex');
}

async function bytesOf(path: string): Promise<Buffer> {
  let bytes: Buffer;
  try {
    bytes = await readBounded(path, MODEL_LIMITS.textFileBytes);
  } catch (error) {
    throw new ModelError(`${path} cannot be read: ${meaningOf(error)}`, { cause: error });
  }
  const what = standIn(bytes.subarray(0, START_BYTES));
  if (what !== null) throw new ModelError(`${path} ${what}`);
  return bytes;
}
