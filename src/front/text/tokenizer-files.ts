/** Reads the JSON files around a tokenizer, as a Hugging Face model folder holds them. */
import { join } from 'node:path';
import { z } from 'zod';
import { explainZod } from '../../explain-zod.ts';
import { parsePythonJson } from '../../files/python-json.ts';
import { standIn, START_BYTES } from '../../files/stand-in.ts';
import { readBounded } from '../../files/read-bounded.ts';
import { meaningOf } from '../../files/system-error.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { UserError } from '../../user-error.ts';

/** A tokenizer's file is missing, unreadable or of a kind that can't be served. */
export class TokenizerError extends UserError {}

/** @returns the file's text, or null if there is no such file. */
export async function readTextFile(path: string): Promise<string | null> {
  try {
    return (await readBounded(path, MODEL_LIMITS.textFileBytes)).toString();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw new TokenizerError(`can't read ${path}: ${meaningOf(error)}`, { cause: error });
  }
}

/**
 * @returns the parsed file, or null if there is no such file.
 * @throws TokenizerError naming the file if it isn't JSON of the expected shape.
 */
export async function readJsonFile<T>(path: string, schema: z.ZodType<T>): Promise<T | null> {
  const text = await readTextFile(path);
  if (text === null) return null;
  try {
    return schema.parse(parsePythonJson(text));
  } catch (error) {
    if (error instanceof z.ZodError) {
      throw new TokenizerError(`${path} is damaged: ${explainZod(error)}`, { cause: error });
    }
    const what = standIn(Buffer.from(text.slice(0, START_BYTES))) ?? `is damaged: ${String(error)}`;
    throw new TokenizerError(`${path} ${what}`, { cause: error });
  }
}

/** A special token's text, given as such or as an object that also says how it is matched. */
const specialToken = z
  .union([z.string(), z.object({ content: z.string() }).transform((token) => token.content)])
  .nullish()
  // A wrong type here is no reason to reject the model: the name stays undefined.
  .catch(null);

const specialTokens = z.looseObject({
  bos_token: specialToken,
  eos_token: specialToken,
  pad_token: specialToken,
  unk_token: specialToken,
  sep_token: specialToken,
  cls_token: specialToken,
  mask_token: specialToken,
});

const namedTemplates = z.array(z.object({ name: z.string(), template: z.string() }));

const chatTemplate = z.union([z.string(), namedTemplates]).nullish();

const tokenizerConfig = specialTokens.extend({ chat_template: chatTemplate });

const processorTemplate = z.looseObject({ chat_template: chatTemplate });

export interface TokenizerConfig {
  /** Everything in tokenizer_config.json; empty without the file. */
  readonly raw: Readonly<Record<string, unknown>>;
  /** Texts by role, such as `bos_token`; roles the model lacks are absent. */
  readonly specialTokens: Readonly<Record<string, string>>;
  /** Chat templates by name, `default` for the only one; empty if the model has none. */
  readonly chatTemplates: ReadonlyMap<string, string>;
}

/**
 * Reads tokenizer_config.json, with special_tokens_map.json for special tokens it leaves out,
 * chat_template.json for the template (where multimodal models have it), and chat_template.jinja,
 * which wins over both (as in transformers).
 */
export async function readTokenizerConfig(folder: string): Promise<TokenizerConfig> {
  const [config, map, processor, jinja] = await Promise.all([
    readJsonFile(join(folder, 'tokenizer_config.json'), tokenizerConfig),
    readJsonFile(join(folder, 'special_tokens_map.json'), specialTokens),
    readJsonFile(join(folder, 'chat_template.json'), processorTemplate),
    readTextFile(join(folder, 'chat_template.jinja')),
  ]);
  const texts: Record<string, string> = {};
  for (const role of Object.keys(specialTokens.shape)) {
    const text = config?.[role] ?? map?.[role];
    if (typeof text === 'string') texts[role] = text;
  }
  const template = config?.chat_template ?? processor?.chat_template ?? [];
  const chatTemplates = new Map(
    typeof template === 'string'
      ? [['default', template]]
      : template.map((entry) => [entry.name, entry.template]),
  );
  if (jinja !== null) chatTemplates.set('default', jinja);
  return { raw: config ?? {}, specialTokens: texts, chatTemplates };
}

/** Content of tokenizer_config.json, with the special tokens and the chat template of the other files. */
export function describedBy(config: TokenizerConfig): Readonly<Record<string, unknown>> {
  const { raw, specialTokens: texts, chatTemplates } = config;
  const template = chatTemplates.get('default');
  return { ...raw, ...texts, ...(template === undefined ? {} : { chat_template: template }) };
}

const tokenIds = z
  .union([z.int(), z.array(z.int())])
  .nullish()
  .transform((ids) => (typeof ids === 'number' ? [ids] : (ids ?? null)));

const eosTokenIds = z
  .looseObject({ eos_token_id: tokenIds })
  .transform(({ eos_token_id: ids }) => ids);

/** A multimodal model has them around its text model, or with it. */
const configEosTokenIds = z
  .looseObject({ eos_token_id: tokenIds, text_config: eosTokenIds.nullish() })
  .transform(({ eos_token_id: ids, text_config: inner }) => ids ?? inner ?? null);

/** As ONNX Runtime GenAI has them. */
const genaiEosTokenIds = z.looseObject({ model: eosTokenIds }).transform(({ model }) => model);

const EOS_FILES = [
  ['generation_config.json', eosTokenIds],
  ['config.json', configEosTokenIds],
  ['genai_config.json', genaiEosTokenIds],
] as const;

/** @returns the ids that end a text, from the first of a model's configurations that has some. */
export async function readEosTokenIds(folder: string): Promise<readonly number[]> {
  for (const [file, schema] of EOS_FILES) {
    const ids = await readJsonFile(join(folder, file), schema);
    if (ids !== null) return ids;
  }
  return [];
}
