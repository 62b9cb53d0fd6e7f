/** tokenizer.json of `vocab.json` and `merges.txt`, BPE on bytes. */
import { told } from '../../told.ts';
import { z } from 'zod';
import { ModelError } from '../model-error.ts';
import {
  allAdded,
  type MadeTokenizer,
  requireBounded,
  requireDistinct,
  UnknownForm,
} from './made-tokenizer.ts';
import { GPT2, QWEN2 } from './pre-tokenizers.ts';
import type { TextSettings } from './text-settings.ts';
import { byteLevelBpe } from './tokenizer-json.ts';

/** By class, or by the kind of the model where no class is named. */
const CLASSES = new Map([
  ['GPT2Tokenizer', GPT2],
  ['CodeGenTokenizer', GPT2],
  ['Qwen2Tokenizer', QWEN2],
]);
const CLASS_OF_MODEL = new Map([
  ['gpt2', 'GPT2Tokenizer'],
  ['opt', 'GPT2Tokenizer'],
  ['phi', 'CodeGenTokenizer'],
  ['qwen2', 'Qwen2Tokenizer'],
  ['qwen3', 'Qwen2Tokenizer'],
]);
const END = '<|endoftext|>';

/** @throws {ModelError} if the files are damaged, or how texts are cut is not known */
export function fromMerges(
  json: unknown,
  list: string,
  settings: TextSettings,
  path: string,
): MadeTokenizer {
  const { roles, config, modelType } = settings;
  const name = settings.tokenizerClass ?? CLASS_OF_MODEL.get(modelType ?? '') ?? null;
  const way = CLASSES.get(name ?? '');
  if (way === undefined)
    throw new UnknownForm(`it is of the class ${name ?? 'that no file names'}`);
  if (config.add_prefix_space === true) throw new UnknownForm('texts begin with a space');
  const ids = new Map(Object.entries(z.record(z.string(), z.int().min(0)).parse(json)));
  requireBounded([...ids.keys()], path);
  const words = Array.from(ids, ([content, id]) => ({ id, content, special: false }));
  requireDistinct(words, path);
  const merges = mergesOf(list, ids, path);
  const isQwen = way === QWEN2;
  const defaults = isQwen ? { eos: END, bos: null } : { eos: END, bos: END };
  const bos = roles.bos_token ?? (config.bos_token === null ? null : defaults.bos);
  const eos = roles.eos_token ?? defaults.eos;
  const ends = [bos, eos, roles.unk_token ?? END].filter((token) => token !== null);
  const own = [...new Set(ends)].flatMap((content) => {
    const id = ids.get(content);
    return id === undefined ? [] : [{ id, content, special: true }];
  });
  const added = allAdded(own, settings, ids);
  requireDistinct(added, path);
  for (const { content, id } of added) ids.set(content, id);
  const vocabulary = {
    tokens: words.map(({ content }) => content),
    ids,
    unknown: null,
    bos,
    eos,
    addsBos: config.add_bos_token === true && bos !== null && ids.has(bos),
    addsEos: false,
    added,
    isText: () => true,
  };
  return {
    json: byteLevelBpe(vocabulary, merges, way),
    config: { bos_token: bos, eos_token: eos },
  };
}

/** @throws {ModelError} if a pair makes no token */
function mergesOf(
  list: string,
  ids: ReadonlyMap<string, number>,
  path: string,
): [string, string][] {
  const lines = list.split('\n').map((line) => line.trim());
  return lines.flatMap((line, index): [string, string][] => {
    if (line === '' || (index === 0 && line.startsWith('#version'))) return [];
    const [left = '', right = '', ...rest] = line.split(' ');
    if (right === '' || rest.length > 0 || !ids.has(left + right)) {
      throw new ModelError(`${path}: the merge ${JSON.stringify(told(line, 80))} makes no token`);
    }
    return [[left, right]];
  });
}
