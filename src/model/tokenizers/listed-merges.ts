import { z } from 'zod';

import { explainZod } from '../../explain-zod.ts';
import { ModelError } from '../model-error.ts';
import { preTokenizer } from './pre-tokenizers.ts';
import { type AddedToken, around, byteLevelBpe } from './tokenizer-json.ts';

/** Ways to cut texts by the class of Transformers that does; OPT's is GPT-2's. */
const WAYS: Readonly<Record<string, string>> = {
  GPT2Tokenizer: 'gpt-2',
  CodeGenTokenizer: 'gpt-2',
  Qwen2Tokenizer: 'qwen2',
};

const ids = z.record(z.string(), z.int().nonnegative());
const token = z
  .union([z.string(), z.looseObject({ content: z.string() }).transform(({ content }) => content)])
  .nullish();
const configSchema = z.looseObject({
  tokenizer_class: z.string().optional(),
  add_bos_token: z.boolean().nullish(),
  add_prefix_space: z.boolean().nullish(),
  bos_token: token,
  eos_token: token,
  unk_token: token,
  pad_token: token,
  added_tokens_decoder: z
    .record(
      z.string().regex(/^\d{1,9}$/),
      z.looseObject({ content: z.string().min(1), special: z.boolean().default(false) }),
    )
    .default({}),
});

/** Content of the files of a tokenizer that lists its merges. */
export interface ListedMerges {
  readonly vocab: unknown;
  readonly merges: string;
  /** Tokens beside it by their texts; null without such a file. */
  readonly added: unknown;
  /** Content of tokenizer_config.json. */
  readonly config: unknown;
}

/**
 * What vocab.json and merges.txt say, as tokenizer.json says it.
 * @throws {ModelError} if they are damaged, or of a tokenizer that cuts texts in a way that is not known
 */
export function readListedMerges(files: ListedMerges, path: string): unknown {
  const config = configSchema.safeParse(files.config ?? {});
  if (!config.success) throw new ModelError(`${path}: ${explainZod(config.error)}`);
  const { tokenizer_class: stated = 'none', add_bos_token: addsBegin, ...roles } = config.data;
  const name = WAYS[stated.replace(/Fast$/, '')];
  if (name === undefined || roles.add_prefix_space === true) {
    const what = name === undefined ? `tokenizer_class "${stated}"` : 'add_prefix_space';
    throw new ModelError(`${path}: a vocab.json with ${what} is not supported`);
  }
  const vocab = ids.safeParse(files.vocab);
  const added = ids.safeParse(files.added ?? {});
  if (!vocab.success || !added.success) {
    throw new ModelError(`${path}: vocab.json or added_tokens.json is damaged`);
  }
  const words = new Map(Object.entries(vocab.data));
  const special = new Map<string, Omit<AddedToken, 'content'>>();
  for (const [content, id] of Object.entries(added.data))
    special.set(content, { id, special: false });
  for (const [id, { content, special: isSpecial }] of Object.entries(roles.added_tokens_decoder)) {
    special.set(content, { id: Number(id), special: isSpecial });
  }
  const { bos_token: begin, eos_token: end, unk_token: unknown, pad_token: pad } = roles;
  for (const content of [begin, end, unknown, pad]) {
    if (typeof content !== 'string') continue;
    const id = special.get(content)?.id ?? words.get(content);
    if (id !== undefined) special.set(content, { id, special: true });
  }
  const way = preTokenizer(name, path);
  const beginId = typeof begin === 'string' ? special.get(begin)?.id : undefined;
  const hasBegin = addsBegin === true && typeof begin === 'string' && beginId !== undefined;
  return {
    ...around(hasBegin ? { id: beginId, content: begin } : null, null),
    ...byteLevelBpe({
      way,
      added: [...special].map(([content, known]) => ({ ...known, content })),
      vocab: vocab.data,
      merges: mergesOf(files.merges, words, path),
    }),
  };
}

/** @throws {ModelError} if a line is no two tokens that make a third */
function mergesOf(
  text: string,
  words: ReadonlyMap<string, number>,
  path: string,
): [string, string][] {
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''));
  const first = lines[0]?.startsWith('#version') ? 1 : 0;
  return lines.slice(first).flatMap((line, index) => {
    if (line.trim() === '') return [];
    const [left = '', right = '', more] = line.split(' ');
    if (more !== undefined || ![left, right, left + right].every((part) => words.has(part))) {
      throw new ModelError(`${path}: merges.txt is damaged in line ${index + first + 1}`);
    }
    return [[left, right]];
  });
}
