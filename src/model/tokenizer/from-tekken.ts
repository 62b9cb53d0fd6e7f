/** tokenizer.json of Mistral's `tekken.json`. */
import { z } from 'zod';
import { ModelError } from '../model-error.ts';
import { bytesOf, idsByRank, lettersOf, mergesByRank } from './byte-ranks.ts';
import { allAdded, type MadeTokenizer, requireDistinct } from './made-tokenizer.ts';
import { mistralTemplate } from './mistral-template.ts';
import { patterned } from './pre-tokenizers.ts';
import type { TextSettings } from './text-settings.ts';
import { byteLevelBpe } from './tokenizer-json.ts';

const tekken = z.object({
  config: z.object({
    pattern: z.string().max(10_000),
    default_vocab_size: z.int().min(256),
    default_num_special_tokens: z.int().min(0),
    version: z.string().default(''),
  }),
  vocab: z.array(z.object({ rank: z.int(), token_bytes: z.string() })),
  special_tokens: z.array(z.object({ rank: z.int().min(0), token_str: z.string() })).nullish(),
});

/** Those of the first files, which do not list them. */
const FIRST_SPECIAL = [
  ...['<unk>', '<s>', '</s>', '[INST]', '[/INST]', '[AVAILABLE_TOOLS]', '[/AVAILABLE_TOOLS]'],
  ...['[TOOL_RESULTS]', '[/TOOL_RESULTS]', '[TOOL_CALLS]', '[IMG]', '<pad>', '[IMG_BREAK]'],
  ...['[IMG_END]', '[PREFIX]', '[MIDDLE]', '[SUFFIX]', '[SYSTEM_PROMPT]', '[/SYSTEM_PROMPT]'],
  '[TOOL_CONTENT]',
].map((token_str, rank) => ({ rank, token_str }));

/** @throws {ModelError} if the file is damaged; ZodError if it has another shape */
export function fromTekken(json: unknown, settings: TextSettings, path: string): MadeTokenizer {
  const { config, vocab, special_tokens: listed } = tekken.parse(json);
  const { default_num_special_tokens: numSpecial, default_vocab_size: size } = config;
  const named = listed ?? FIRST_SPECIAL;
  if (numSpecial >= size || named.some(({ rank }) => rank >= numSpecial)) {
    throw new ModelError(`${path} has more special tokens than it says`);
  }
  const texts = new Map(named.map(({ rank, token_str }) => [rank, token_str]));
  const special = Array.from({ length: numSpecial }, (_, id) => {
    return { id, content: texts.get(id) ?? `<SPECIAL_${id}>`, special: true };
  });
  requireDistinct(special, path);
  // Files have more tokens than the models: the first ones count.
  const words = vocab.slice(0, size - numSpecial);
  if (words.some(({ rank }, index) => rank !== index)) {
    throw new ModelError(`${path}: its tokens are not in the order of their ranks`);
  }
  const tokens = words.map(({ token_bytes }) => lettersOf(bytesOf(token_bytes, path)));
  const ids = idsByRank(tokens, numSpecial, path);
  const merges = mergesByRank(tokens, ids);
  for (const { content, id } of special) ids.set(content, id);
  const roleOf = (role: 'bos_token' | 'eos_token', usual: string) =>
    settings.roles[role] ?? (ids.has(usual) ? usual : null);
  const [bos, eos] = [roleOf('bos_token', '<s>'), roleOf('eos_token', '</s>')];
  const added = allAdded(special, settings, ids);
  requireDistinct(added, path);
  const vocabulary = {
    tokens,
    ids,
    unknown: null,
    bos,
    eos,
    addsBos: bos !== null && ids.has(bos),
    addsEos: false,
    added,
    isText: () => true,
  };
  const way = { ...patterned(config.pattern), ignoreMerges: true };
  const template = mistralTemplate(config.version, new Set(special.map(({ content }) => content)));
  return {
    json: byteLevelBpe(vocabulary, merges, way),
    config: {
      bos_token: bos,
      eos_token: eos,
      ...(template !== null && { chat_template: template }),
    },
  };
}
