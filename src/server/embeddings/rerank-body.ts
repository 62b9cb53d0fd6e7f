/** The bodies of reranking, as Jina, Cohere, vLLM and text-embeddings-inference have them. */
import { z } from 'zod';
import type { ImagePart } from '../../front/chat/chat-images.ts';
import { LIMITS } from '../../limits.ts';
import { boundedList } from '../schemas/bounded-list.ts';
import { parseWith } from '../schemas/parse.ts';
import { common, type Known } from './bodies.ts';
import { mixedInputOf, mixedItem } from './mixed-inputs.ts';

/** A text or an image, or an object with one, as Cohere's clients send texts and Jina's send images. */
const item = z.union([z.string(), mixedItem], {
  error: 'expected a text or an object with one, or with an image',
});
type Item = z.infer<typeof item>;

const notEmpty = { error: 'expected at least one document' };
const list = boundedList(item, LIMITS.encoderTexts).refine(({ length }) => length > 0, notEmpty);
/** All documents as parts of one content: vLLM's form for images. */
const content = z.looseObject({ content: list });
/** Body of `/v1/rerank` and `/v2/rerank`. */
export const rerankSchema = z.looseObject({
  ...common,
  query: item,
  documents: z.union([list, content]),
  top_n: z.int().min(1).nullish(),
  return_documents: z.boolean().nullish(),
});

/** Each of the two forms alone: a union's error would not say which item is wrong. */
const rerankForms = [
  rerankSchema.extend({ documents: list }),
  rerankSchema.extend({ documents: content }),
] as const;
const contentGiven = z.looseObject({ documents: z.looseObject({ content: z.unknown() }) });

/** A text, or an image. */
type Ranked = string | ImagePart;

export interface RerankRequest extends Known<z.infer<typeof rerankSchema>, 'query' | 'documents'> {
  readonly query: Ranked;
  readonly documents: readonly Ranked[];
}

/** @throws ApiError 400 naming the field */
export function parseRerank(json: unknown): RerankRequest {
  const isContent = contentGiven.safeParse(json).success;
  const { query, documents: given, ...body } = parseWith(rerankForms[isContent ? 1 : 0], json);
  const [inner, field] = Array.isArray(given)
    ? [given, 'documents']
    : [given.content, 'documents.content'];
  return { ...body, query: rankedOf(query, 'query'), documents: allOf(inner, field) };
}

export const teiRerankSchema = z.looseObject({
  query: item,
  texts: list,
  raw_scores: z.boolean().nullish(),
  return_text: z.boolean().nullish(),
  truncate: z.boolean().nullish(),
});

/** Request to text-embeddings-inference's `/rerank`. */
export interface TeiRerankRequest extends Known<
  z.infer<typeof teiRerankSchema>,
  'query' | 'texts'
> {
  readonly query: Ranked;
  readonly texts: readonly Ranked[];
}

/** @throws ApiError 400 naming the field */
export function parseTeiRerank(json: unknown): TeiRerankRequest {
  const { query, texts, ...body } = parseWith(teiRerankSchema, json);
  return { ...body, query: rankedOf(query, 'query'), texts: allOf(texts, 'texts') };
}

/** @param field where in the body they are */
function allOf(items: readonly Item[], field: string): readonly Ranked[] {
  return items.map((each, index) => rankedOf(each, `${field}.${index}`));
}

function rankedOf(each: Item, field: string): Ranked {
  return typeof each === 'string' ? each : mixedInputOf(each, field);
}
