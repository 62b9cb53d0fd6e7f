/** Tokenizers in other forms than tokenizer.json: which are read, and where what they become is kept. */
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { parsePythonJson } from '../../files/python-json.ts';
import { readBounded } from '../../files/read-bounded.ts';
import { meaningOf } from '../../files/system-error.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { ModelError } from '../model-error.ts';
import { keptTexts } from './kept-texts.ts';
import { readListedMerges } from './listed-merges.ts';
import { readTekken } from './tekken.ts';
import { readTiktoken } from './tiktoken.ts';

/** Raised when what is made of files changes. */
const VERSION = 1;

const CONFIG = 'tokenizer_config.json';
/** Files beside a tokenizer that say more of texts. */
const BESIDE = [
  ...[CONFIG, 'special_tokens_map.json', 'added_tokens.json', 'chat_template.json'],
  ...['chat_template.jinja', 'config.json', 'generation_config.json', 'genai_config.json'],
];

interface Form {
  /** All of them make the tokenizer. */
  readonly files: readonly string[];
  readonly read: (
    files: Files,
    path: string,
  ) => { readonly tokenizer: unknown; readonly config?: Readonly<Record<string, unknown>> };
}

const FORMS: readonly Form[] = [
  {
    files: ['tekken.json'],
    read: (files, path) => readTekken(files.json('tekken.json'), join(path, 'tekken.json')),
  },
  {
    files: ['tiktoken.model'],
    read: (files, path) => {
      const text = files.text('tiktoken.model');
      return { tokenizer: readTiktoken(text, files.json(CONFIG), join(path, 'tiktoken.model')) };
    },
  },
  {
    files: ['vocab.json', 'merges.txt'],
    read: (files, path) => {
      const [vocab, added] = [files.json('vocab.json'), files.json('added_tokens.json')];
      const merges = files.text('merges.txt');
      return {
        tokenizer: readListedMerges({ vocab, merges, added, config: files.json(CONFIG) }, path),
      };
    },
  },
];

/**
 * Files that a tokenizer is made of, those beside them included.
 * @param names of a model's files
 * @returns null if it has tokenizer.json, or none of the forms that are read
 */
export function madeOf(names: readonly string[]): readonly string[] | null {
  const form = formOf(names);
  return form && [...form.files, ...BESIDE].filter((name) => names.includes(name));
}

function formOf(names: readonly string[]): Form | null {
  if (names.includes('tokenizer.json')) return null;
  return FORMS.find(({ files }) => files.every((name) => names.includes(name))) ?? null;
}

/**
 * Where a model's tokenizer.json and chat template are: in its folder, or in the cache, made of another form.
 * @throws {ModelError} if that is damaged, or not known
 */
export async function madeTextFolder(folder: string, cacheDirectory: string): Promise<string> {
  const names = await readdir(folder).catch((): string[] => []);
  const form = formOf(names);
  if (form === null) return folder;
  const files = await Files.read(folder, madeOf(names) ?? []);
  const name = `v${VERSION}-${files.hash}`;
  return keptTexts({ cacheDirectory, kind: 'made-texts', name }, () => {
    const { tokenizer, config } = form.read(files, folder);
    const stated = files.json(CONFIG);
    return {
      ...Object.fromEntries(files.among(BESIDE)),
      'tokenizer.json': tokenizer,
      [CONFIG]: { ...config, ...(typeof stated === 'object' ? stated : null) },
    };
  });
}

class Files {
  readonly #folder: string;
  readonly #contents: ReadonlyMap<string, Buffer>;

  constructor(folder: string, contents: ReadonlyMap<string, Buffer>) {
    this.#folder = folder;
    this.#contents = contents;
  }

  /** @throws {ModelError} for one that is too large or can't be read */
  static async read(folder: string, names: readonly string[]): Promise<Files> {
    const contents = new Map<string, Buffer>();
    for (const name of names) {
      const path = join(folder, name);
      try {
        contents.set(name, await readBounded(path, MODEL_LIMITS.textFileBytes));
      } catch (error) {
        throw new ModelError(`can't read ${path}: ${meaningOf(error)}`, { cause: error });
      }
    }
    return new Files(folder, contents);
  }

  get hash(): string {
    const hash = createHash('sha256');
    for (const [name, content] of this.#contents)
      hash.update(`${name} ${content.length} `).update(content);
    return hash.digest('hex').slice(0, 32);
  }

  /** Those of some names that there are, with their texts. */
  among(names: readonly string[]): (readonly [string, string])[] {
    return names.flatMap((name) => (this.#contents.has(name) ? [[name, this.text(name)]] : []));
  }

  /** Empty if there is no such file. */
  text(name: string): string {
    return this.#contents.get(name)?.toString() ?? '';
  }

  /** @returns null if there is no such file. @throws {ModelError} if it is no JSON */
  json(name: string): unknown {
    if (!this.#contents.has(name)) return null;
    try {
      return parsePythonJson(this.text(name));
    } catch (error) {
      const path = join(this.#folder, name);
      throw new ModelError(`${path} is damaged: ${meaningOf(error)}`, { cause: error });
    }
  }
}
