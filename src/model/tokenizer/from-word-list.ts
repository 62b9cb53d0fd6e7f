/** tokenizer.json of `vocab.txt`, the words and parts of words of BERT's encoders. */
import { ModelError } from '../model-error.ts';
import {
  allAdded,
  type MadeTokenizer,
  requireBounded,
  requireDistinct,
  UnknownForm,
} from './made-tokenizer.ts';
import type { TextSettings } from './text-settings.ts';
import { addedTokens, specialTokens } from './tokenizer-json.ts';

const CLASSES = new Set(['BertTokenizer', 'DistilBertTokenizer', 'ElectraTokenizer']);
const MODELS = new Set(['bert', 'distilbert', 'electra', 'nomic_bert']);
const ROLES = {
  unk_token: '[UNK]',
  sep_token: '[SEP]',
  pad_token: '[PAD]',
  cls_token: '[CLS]',
  mask_token: '[MASK]',
};

/** @throws {ModelError} if the file is damaged, or not of BERT's kind */
export function fromWordList(text: string, settings: TextSettings, path: string): MadeTokenizer {
  const { config, modelType } = settings;
  const name = settings.tokenizerClass;
  if (name === null ? !MODELS.has(modelType ?? '') : !CLASSES.has(name)) {
    throw new UnknownForm(`it is of the class ${name ?? 'that no file names'}`);
  }
  const words = text.replace(/\n$/, '').split(/\r\n|\r|\n/);
  requireBounded(words, path);
  // The last place counts for a word that is there twice, as in the models' own code.
  const ids = new Map(words.map((word, id) => [word, id]));
  const roles = { ...ROLES, ...settings.roles };
  const own = Object.values(roles).flatMap((content) => {
    const id = ids.get(content);
    return id === undefined ? [] : [{ id, content, special: true }];
  });
  const added = allAdded(own, settings, ids);
  requireDistinct(added, path);
  for (const { content, id } of added) ids.set(content, id);
  const { cls_token: first, sep_token: last, unk_token: unknown } = roles;
  const missing = [first, last, unknown].find((token) => !ids.has(token));
  if (missing !== undefined) throw new ModelError(`${path} has no word ${JSON.stringify(missing)}`);
  const marker = (id: string, type: number) => ({ SpecialToken: { id, type_id: type } });
  const sequence = (id: string, type: number) => ({ Sequence: { id, type_id: type } });
  const single = [marker(first, 0), sequence('A', 0), marker(last, 0)];
  return {
    json: {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: addedTokens(added),
      normalizer: {
        type: 'BertNormalizer',
        clean_text: true,
        handle_chinese_chars: config.tokenize_chinese_chars ?? true,
        strip_accents: config.strip_accents ?? null,
        lowercase: config.do_lower_case ?? true,
      },
      pre_tokenizer: { type: 'BertPreTokenizer' },
      post_processor: {
        type: 'TemplateProcessing',
        single,
        pair: [...single, sequence('B', 1), marker(last, 1)],
        special_tokens: specialTokens([first, last], ids),
      },
      decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
      model: {
        type: 'WordPiece',
        unk_token: unknown,
        continuing_subword_prefix: '##',
        max_input_chars_per_word: 100,
        vocab: Object.fromEntries(ids),
      },
    },
    config: roles,
  };
}
