/** Settings of a vocabulary, by the small files that come with it. */
import { join } from 'node:path';
import { z } from 'zod';
import { fileExists } from '../../files/file-exists.ts';
import { readJson } from '../huggingface/json-file.ts';
import type { AddedToken } from './vocabulary.ts';

/** A token's text, given as such or as an object that says how it is found. */
const tokenText = z
  .union([z.string(), z.object({ content: z.string() }).transform(({ content }) => content)])
  .nullish()
  // A wrong type is no reason to reject the model: the role stays without a token.
  .catch(null);
const flag = z.boolean().nullish().catch(null);
const word = z.string().nullish().catch(null);

const addedToken = z.object({
  content: z.string(),
  special: z.boolean().default(false),
  lstrip: z.boolean().optional(),
  rstrip: z.boolean().optional(),
  single_word: z.boolean().optional(),
  normalized: z.boolean().optional(),
});

const ROLES = [
  'bos_token',
  'eos_token',
  'unk_token',
  'pad_token',
  'sep_token',
  'cls_token',
  'mask_token',
] as const;
type Role = (typeof ROLES)[number];

const roles = z.object({
  bos_token: tokenText,
  eos_token: tokenText,
  unk_token: tokenText,
  pad_token: tokenText,
  sep_token: tokenText,
  cls_token: tokenText,
  mask_token: tokenText,
  additional_special_tokens: z.array(tokenText).nullish().catch(null),
});

const settings = roles.extend({
  tokenizer_class: word,
  auto_map: z
    .object({ AutoTokenizer: z.array(z.string().nullable()) })
    .nullish()
    .catch(null),
  added_tokens_decoder: z.record(z.string().regex(/^\d+$/), addedToken).nullish(),
  add_bos_token: flag,
  add_eos_token: flag,
  add_prefix_space: flag,
  legacy: flag,
  do_lower_case: flag,
  strip_accents: flag,
  tokenize_chinese_chars: flag,
});

const modelConfig = z.object({ model_type: word, tokenizer_class: word });

/** Files of which `readSettings` reads those that there are. */
export const SETTINGS_FILES = [
  'tokenizer_config.json',
  'special_tokens_map.json',
  'added_tokens.json',
  'config.json',
] as const;

export interface TextSettings {
  /** Such as `LlamaTokenizer`: classes of both kinds have one name. Null if no file says. */
  readonly tokenizerClass: string | null;
  /** A class of the model's own, such as `tokenization_kimi.TikTokenTokenizer`. */
  readonly ownClass: string | null;
  readonly modelType: string | null;
  readonly roles: Readonly<Partial<Record<Role, string>>>;
  /** Tokens that are special: those with roles, and others. */
  readonly special: ReadonlySet<string>;
  readonly added: readonly AddedToken[];
  readonly config: z.infer<typeof settings>;
}

/** @throws {ModelError} for a damaged file, ZodError for one that is of another shape */
export async function readSettings(folder: string): Promise<TextSettings> {
  const [config, map, legacy, model] = await Promise.all(
    SETTINGS_FILES.map(async (name) => {
      const path = join(folder, name);
      return (await fileExists(path)) ? await readJson(path) : {};
    }),
  );
  const own = settings.parse(config);
  const others = roles.parse(map);
  const { model_type: modelType, tokenizer_class: classOfModel } = modelConfig.parse(model);
  const texts: Partial<Record<Role, string>> = {};
  for (const role of ROLES) {
    const text = own[role] ?? others[role];
    if (typeof text === 'string') texts[role] = text;
  }
  const extra = own.additional_special_tokens ?? others.additional_special_tokens ?? [];
  const listed = [...Object.values(texts), ...extra];
  const special = new Set(listed.filter((text) => typeof text === 'string'));
  return {
    tokenizerClass: (own.tokenizer_class ?? classOfModel ?? null)?.replace(/Fast$/, '') ?? null,
    ownClass: own.auto_map?.AutoTokenizer.find((name) => name !== null) ?? null,
    modelType: modelType ?? null,
    roles: texts,
    special,
    added: addedTokensOf(own, legacy, special),
    config: own,
  };
}

function addedTokensOf(
  { added_tokens_decoder: decoder }: z.infer<typeof settings>,
  legacy: unknown,
  special: ReadonlySet<string>,
): AddedToken[] {
  if (decoder !== null && decoder !== undefined) {
    return Object.entries(decoder).map(([id, token]) => {
      return { id: Number(id), ...token, special: token.special || special.has(token.content) };
    });
  }
  const ids = z.record(z.string(), z.int().min(0)).parse(legacy);
  return Object.entries(ids).map(([content, id]) => {
    return { id, content, special: special.has(content) };
  });
}
