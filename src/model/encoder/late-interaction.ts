/** How a model of late interaction (ColBERT) reads queries and documents. */
import { join } from 'node:path';

import { z } from 'zod';
import { explainZod } from '../../explain-zod.ts';

import { MODEL_LIMITS } from '../../model-limits.ts';
import { readJson } from '../huggingface/json-file.ts';
import { ModelError } from '../model-error.ts';

/** Texts of one kind. */
export interface LateTexts {
  /** Token that is put after the first one, by its text; null for none. */
  readonly prefix: string | null;
  /** Longest text in tokens, special ones and prefix included. */
  readonly length: number;
}

export interface LateInteraction {
  readonly query: LateTexts;
  readonly document: LateTexts;
  /** Whether queries are filled up to their length with mask tokens, whose vectors count too. */
  readonly expandsQueries: boolean;
  /** Whether tokens see those that a query is filled up with. */
  readonly seesExpansion: boolean;
  /** Tokens of documents whose vectors do not count, by their texts. */
  readonly skippedWords: readonly string[];
}

/** As Stanford's ColBERT and PyLate have them where a model does not say. */
const QUERY_LENGTH = 32;
const DOCUMENT_LENGTH = 180;
const DIM = 128;
const PUNCTUATION = Array.from('!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~');

const length = z.int().min(4).max(MODEL_LIMITS.positions).nullish();
const prefix = z.string().nullish();

/** PyLate's part of config_sentence_transformers.json. */
export const pylateShape = {
  query_prefix: prefix,
  document_prefix: prefix,
  query_length: length,
  document_length: length,
  do_query_expansion: z.boolean().nullish(),
  attend_to_expansion_tokens: z.boolean().nullish(),
  skiplist_words: z.array(z.string()).nullish(),
};

const pylateSchema = z.looseObject(pylateShape);

/** @param config contents of config_sentence_transformers.json */
export function pylateInteraction(config: z.infer<typeof pylateSchema>): LateInteraction {
  const textsOf = (given: string | null | undefined, usual: string, most: number): LateTexts => ({
    prefix: (given ?? usual) || null,
    length: most,
  });
  const expandsQueries = config.do_query_expansion ?? true;
  return {
    query: textsOf(config.query_prefix, '[Q] ', config.query_length ?? QUERY_LENGTH),
    document: textsOf(config.document_prefix, '[D] ', config.document_length ?? DOCUMENT_LENGTH),
    expandsQueries,
    seesExpansion: expandsQueries && (config.attend_to_expansion_tokens ?? false),
    skippedWords: config.skiplist_words ?? PUNCTUATION,
  };
}

/** Architecture in config.json of what Stanford's ColBERT writes. */
export const STANFORD_ARCHITECTURE = 'HF_ColBERT';
const METADATA_FILE = 'artifact.metadata';

const metadataSchema = z.looseObject({
  query_token_id: z.string().default('[unused0]'),
  doc_token_id: z.string().default('[unused1]'),
  query_maxlen: length,
  doc_maxlen: length,
  attend_to_mask_tokens: z.boolean().nullish(),
  dim: z.int().positive().max(MODEL_LIMITS.positions).default(DIM),
});

/**
 * Reads what a folder of Stanford's ColBERT says.
 * @param names of its files @returns also the width of its vectors @throws {ModelError}
 */
export async function readStanford(
  folder: string,
  names: readonly string[],
): Promise<{ readonly late: LateInteraction; readonly dim: number }> {
  const path = join(folder, METADATA_FILE);
  const parsed = metadataSchema.safeParse(
    names.includes(METADATA_FILE) ? await readJson(path) : {},
  );
  if (!parsed.success) throw new ModelError(`${path}: ${explainZod(parsed.error)}`);
  const { data } = parsed;
  const late = pylateInteraction({
    query_prefix: data.query_token_id,
    document_prefix: data.doc_token_id,
    query_length: data.query_maxlen,
    document_length: data.doc_maxlen,
    attend_to_expansion_tokens: data.attend_to_mask_tokens,
  });
  return { late, dim: data.dim };
}
