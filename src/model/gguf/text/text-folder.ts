import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { keepFolder } from '../../cache/kept-folder.ts';
import { fileExists } from '../../../files/file-exists.ts';
import { GgufFile } from '../gguf-file.ts';
import type { GgufMetadata } from '../metadata.ts';
import { endTokenIds } from './end-tokens.ts';
import { readGgufTokenizer } from './gguf-tokenizer.ts';
import type { Vocabulary } from '../../tokenizer/vocabulary.ts';
import { ggufSamplingDefaults } from './sampling-defaults.ts';

/** Raised when what is written changes, so that folders of older versions are not used. */
const VERSION = 4;

/**
 * Writes a GGUF model's tokenizer and chat template to a folder of the cache, in the files that
 * Hugging Face models have for them; or finds it written.
 * @param path of the model's file, or of one of its parts
 * @returns the folder
 * @throws {ModelError} if they are damaged or not supported, or the disk is full
 */
export async function ggufTextFolder(path: string, cacheDirectory: string): Promise<string> {
  const file = await GgufFile.open(path);
  await file.close();
  const folder = join(cacheDirectory, 'gguf-texts', `v${VERSION}-${file.hash}`);
  if (await fileExists(folder)) return folder;
  const { json, vocabulary } = readGgufTokenizer(file.metadata, path);
  const config = {
    bos_token: vocabulary.bos,
    eos_token: vocabulary.eos,
    unk_token: vocabulary.unknown,
    ...chatTemplates(file.metadata, vocabulary),
  };
  const files = {
    'tokenizer.json': json,
    'tokenizer_config.json': config,
    'generation_config.json': {
      eos_token_id: endTokenIds(file.metadata),
      suppress_tokens: suppressedTokenIds(file.metadata),
      ...ggufSamplingDefaults(file.metadata, path),
    },
  };
  await keepFolder(cacheDirectory, folder, 'the tokenizer', async (unfinished) => {
    for (const [name, content] of Object.entries(files)) {
      await writeFile(join(unfinished, name), JSON.stringify(content));
    }
  });
  return folder;
}

/** Tokens that llama.cpp never samples: those of images in Gemma 4, which it writes now and then. */
function suppressedTokenIds(metadata: GgufMetadata): readonly number[] {
  const tokenIds = metadata.numbers('tokenizer.ggml.suppress_tokens') ?? [];
  return [...tokenIds].filter((tokenId) => tokenId >= 0);
}

/** One template, or several with names. */
function chatTemplates(metadata: GgufMetadata, vocabulary: Vocabulary) {
  const read = (key: string) => {
    const text = metadata.string(key);
    return text === undefined ? undefined : begun(text, vocabulary);
  };
  const template = read('tokenizer.chat_template');
  const names = metadata.strings('tokenizer.chat_templates') ?? [];
  const named = names.flatMap((name) => {
    const text = read(`tokenizer.chat_template.${name}`);
    return text === undefined ? [] : [{ name, template: text }];
  });
  if (named.length === 0) return template === undefined ? {} : { chat_template: template };
  const others = named.filter(({ name }) => name !== 'default');
  const all = template === undefined ? named : [{ name: 'default', template }, ...others];
  return { chat_template: all };
}

/**
 * A template that writes the begin token where the file wants one. llama.cpp puts it before every
 * prompt, so converters take it out of templates (Unsloth's do), and such models answer badly without.
 */
function begun(template: string, { addsBos, bos }: Vocabulary): string {
  if (addsBos !== true || bos === null) return template;
  const writesIt = template.includes('bos_token') || template.includes(bos);
  return writesIt ? template : `{{ bos_token }}${template}`;
}
