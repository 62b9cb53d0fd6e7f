import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const SUMMIT = fileURLToPath(new URL('../../../models/summit/', import.meta.url));

const tokenizerFile = z.looseObject({
  added_tokens: z.array(
    z.looseObject({ id: z.number(), content: z.string(), special: z.boolean() }),
  ),
  model: z.looseObject({
    vocab: z.record(z.string(), z.number()),
    merges: z.array(z.union([z.string(), z.tuple([z.string(), z.string()])])),
  }),
});

/** A tokenizer of byte pairs: every text can be written in it, and every token has a text. */
export interface PaddedTokenizer {
  /** By id. */
  readonly tokens: readonly string[];
  /** Pairs, as `first second`. */
  readonly merges: readonly string[];
  /** Ids of added tokens, and whether they are left out of texts. */
  readonly added: ReadonlyMap<number, boolean>;
  readonly json: object;
}

/**
 * The tokenizer of models/summit with a vocabulary as large as a model's: words are added that no text is split
 * into, so that whatever a model of random weights samples has a text, and servers send it at once.
 * @throws {Error} if the vocabulary is smaller than summit's
 */
export async function paddedTokenizer(vocabSize: number): Promise<PaddedTokenizer> {
  const text = await readFile(join(SUMMIT, 'tokenizer.json'), 'utf8');
  const json = tokenizerFile.parse(JSON.parse(text));
  const { vocab, merges } = json.model;
  const numKnown = Object.keys(vocab).length;
  if (vocabSize < numKnown) throw new Error(`a vocabulary of ${vocabSize} is under ${numKnown}`);
  // Digits are tokens by themselves: no merge leads to such a word. Ġ is a space.
  for (let id = numKnown; id < vocabSize; id++) vocab[`Ġw${id}`] = id;
  const tokens = Object.entries(vocab)
    .sort(([, a], [, b]) => a - b)
    .map(([token]) => token);
  return {
    tokens,
    merges: merges.map((merge) => (typeof merge === 'string' ? merge : merge.join(' '))),
    added: new Map(json.added_tokens.map(({ id, special }) => [id, special])),
    json,
  };
}

/** Writes the tokenizer's files beside a checkpoint's. */
export async function writeTokenizer(folder: string, tokenizer: PaddedTokenizer): Promise<void> {
  await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer.json));
  const config: unknown = JSON.parse(await readFile(join(SUMMIT, 'tokenizer_config.json'), 'utf8'));
  const longer = { ...z.looseObject({}).parse(config), model_max_length: 2 ** 20 };
  await writeFile(join(folder, 'tokenizer_config.json'), JSON.stringify(longer));
}
