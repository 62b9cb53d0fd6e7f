import { z } from 'zod';

import { ModelError } from '../model-error.ts';
import { preTokenizer } from './pre-tokenizers.ts';
import { rankedBpe } from './ranked-bpe.ts';

const addedTokens = z.looseObject({
  added_tokens_decoder: z
    .record(z.string().regex(/^\d{1,9}$/), z.looseObject({ content: z.string().min(1) }))
    .default({}),
});

/** A special token of Moonshot's models alone. How texts are cut is in their Python code. */
const KIMI = '<|im_middle|>';
const LINE = /^([A-Za-z\d+/]+={0,2}) (\d{1,9})$/;

/**
 * What a tiktoken.model of Moonshot's says (Kimi, Moonlight), as tokenizer.json says it.
 * @param config content of tokenizer_config.json, which has the special tokens
 * @throws {ModelError} if it is damaged, or another's
 */
export function readTiktoken(text: string, config: unknown, path: string): unknown {
  const added = addedTokens.safeParse(config).data?.added_tokens_decoder ?? {};
  const special = Object.entries(added).map(([id, { content }]) => ({ id: Number(id), content }));
  if (!special.some(({ content }) => content === KIMI)) {
    throw new ModelError(`${path} does not say how texts are cut into words`);
  }
  const ranked: Buffer[] = [];
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, bytes = '', rank = ''] = LINE.exec(line) ?? [];
    if (Number(rank) !== ranked.length || bytes === '') {
      throw new ModelError(`${path} is damaged: its line ${ranked.length + 1} is not of that rank`);
    }
    ranked.push(Buffer.from(bytes, 'base64'));
  }
  const inside = special.find(({ id }) => id < ranked.length);
  if (inside) throw new ModelError(`${path} has the id ${inside.id} of ${inside.content}, too`);
  const way = preTokenizer('kimi-k2', path);
  return rankedBpe({ ranked, firstId: 0, special, begin: null, way }, path);
}
