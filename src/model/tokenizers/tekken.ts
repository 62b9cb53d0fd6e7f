import { z } from 'zod';

import { explainZod } from '../../explain-zod.ts';
import { ModelError } from '../model-error.ts';
import { mistralTemplate } from './mistral-template.ts';
import { type PreTokenizer, preTokenizer } from './pre-tokenizers.ts';
import { rankedBpe } from './ranked-bpe.ts';

/** Special tokens of files that list none, by id. */
const FIRST_SPECIAL = [
  ...['<unk>', '<s>', '</s>', '[INST]', '[/INST]', '[AVAILABLE_TOOLS]', '[/AVAILABLE_TOOLS]'],
  ...[
    '[TOOL_RESULTS]',
    '[/TOOL_RESULTS]',
    '[TOOL_CALLS]',
    '[IMG]',
    '<pad>',
    '[IMG_BREAK]',
    '[IMG_END]',
  ],
  ...['[PREFIX]', '[MIDDLE]', '[SUFFIX]', '[SYSTEM_PROMPT]', '[/SYSTEM_PROMPT]', '[TOOL_CONTENT]'],
];
const [BEGIN, END, UNKNOWN] = ['<s>', '</s>', '<unk>'];

const count = z.int().nonnegative();
const schema = z.object({
  config: z.object({
    pattern: z.string(),
    default_vocab_size: count,
    default_num_special_tokens: count,
    version: z.string(),
  }),
  vocab: z.array(z.object({ rank: count, token_bytes: z.base64() })),
  special_tokens: z.array(z.object({ rank: count, token_str: z.string().min(1) })).nullish(),
});

/**
 * What Mistral's tekken.json says, as tokenizer.json and tokenizer_config.json say it: the same tokens as
 * mistral-common, and a chat template that writes conversations as it does.
 * @throws {ModelError} if it is damaged, or cuts texts in a way that is not known
 */
export function readTekken(json: unknown, path: string) {
  const parsed = schema.safeParse(json);
  if (!parsed.success) throw new ModelError(`${path} is damaged: ${explainZod(parsed.error)}`);
  const { config, vocab, special_tokens: listed } = parsed.data;
  const numSpecial = config.default_num_special_tokens;
  const numRanked = config.default_vocab_size - numSpecial;
  if (numRanked < 1 || numRanked > vocab.length) {
    throw new ModelError(`${path} has ${vocab.length} tokens of ${numRanked}`);
  }
  const ranked = vocab.slice(0, numRanked);
  const wrong = ranked.findIndex(({ rank }, index) => rank !== index);
  if (wrong >= 0) throw new ModelError(`${path} has the token of rank ${wrong} in another place`);
  const known = listed ?? FIRST_SPECIAL.map((token, rank) => ({ rank, token_str: token }));
  const texts = new Map(known.map(({ rank, token_str: text }) => [rank, text]));
  if (texts.size < known.length || known.some(({ rank }) => rank >= numSpecial)) {
    throw new ModelError(`${path} has special tokens of the same rank, or beyond ${numSpecial}`);
  }
  const special = Array.from({ length: numSpecial }, (_, id) => {
    return { id, content: texts.get(id) ?? `<SPECIAL_${id}>` };
  });
  const names = new Set(special.map(({ content }) => content));
  if (names.size < numSpecial) throw new ModelError(`${path} has a special token twice`);
  const template = mistralTemplate(config.version, names);
  const way = wayOf(config.pattern, path);
  const tokens = ranked.map(({ token_bytes: bytes }) => Buffer.from(bytes, 'base64'));
  return {
    tokenizer: rankedBpe({ ranked: tokens, firstId: numSpecial, special, begin: BEGIN, way }, path),
    config: {
      bos_token: BEGIN,
      eos_token: END,
      unk_token: UNKNOWN,
      ...(template !== null && { chat_template: template }),
    },
  };
}

/** @throws {ModelError} for another pattern than all files have: one that is slow would hold up the server */
function wayOf(pattern: string, path: string): PreTokenizer {
  const way = preTokenizer('tekken', path);
  const [words] = way.steps.flatMap((step) => patternSchema.safeParse(step).data ?? []);
  if (words?.pattern.Regex === pattern) return way;
  throw new ModelError(`${path} cuts texts by a pattern that is not known`);
}

const patternSchema = z.object({ pattern: z.object({ Regex: z.string() }) });
