/** The bodies of embeddings, reranking and scoring, as OpenAI, Jina, Cohere, vLLM and TEI have them. */
import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
import { badRequest } from '../errors.ts';
import { boundedList } from '../schemas/bounded-list.ts';
import { shortText } from '../schemas/fields.ts';
import { parseWith } from '../schemas/parse.ts';
import { parsePrompts } from '../schemas/prompt.ts';

/** Fields of all these bodies. */
export const common = {
  model: shortText.nullish(),
  user: shortText.nullish(),
  /** Lower goes first. */
  priority: z.int().nullish(),
  /** Seconds that the request may take, waiting included. */
  timeout: z.number().positive().max(86_400).nullish(),
};

/** Texts that are too long are cut to what the model takes (-1, or any length), not refused. */
export const truncateTokens = z.int().min(-1).nullish();

/** Texts, or token ids. @throws ApiError 400 naming the field */
export function parseInputs(value: unknown, param: string): readonly (string | Int32Array)[] {
  return parsePrompts(value, LIMITS.encoderTexts, param).map((prompt) =>
    'text' in prompt ? prompt.text : Int32Array.from(prompt.tokenIds),
  );
}

/** The fields that a schema names, but for some. */
type Known<Body, Left extends string> = {
  readonly [K in keyof Body as string extends K ? never : K extends Left ? never : K]: Body[K];
};

export const embeddingsSchema = z.looseObject({
  ...common,
  input: z.unknown(),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.int().min(1).nullish(),
  /** Which of the model's prompts comes before each text. */
  prompt_name: shortText.nullish(),
  truncate_prompt_tokens: truncateTokens,
});

/** Request to `/v1/embeddings`. */
export interface EmbeddingsRequest extends Known<z.infer<typeof embeddingsSchema>, 'input'> {
  readonly inputs: readonly (string | Int32Array)[];
}

/** @throws ApiError 400 naming the field */
export function parseEmbeddings(json: unknown): EmbeddingsRequest {
  const { input, ...body } = parseWith(embeddingsSchema, json);
  return { ...body, inputs: parseInputs(input, 'input') };
}

const text = z.string();
/** A text, or an object with one, as Cohere's clients send them. */
const document = z.union([text, z.looseObject({ text }).transform((each) => each.text)], {
  error: 'expected a text or an object with one',
});
const documents = boundedList(document, LIMITS.encoderTexts).refine((list) => list.length > 0, {
  error: 'expected at least one document',
});

/** Body of `/v1/rerank` and `/v2/rerank`. */
export const rerankSchema = z.looseObject({
  ...common,
  query: text,
  documents,
  top_n: z.int().min(1).nullish(),
  return_documents: z.boolean().nullish(),
});

export type RerankRequest = z.infer<typeof rerankSchema>;

/** @throws ApiError 400 naming the field */
export function parseRerank(json: unknown): RerankRequest {
  return parseWith(rerankSchema, json);
}

const oneOrMany = z.union([text.transform((one) => [one]), documents], {
  error: 'expected a text or a list of texts',
});

export const scoreSchema = z.looseObject({
  ...common,
  queries: oneOrMany.nullish(),
  documents: oneOrMany.nullish(),
  /** vLLM's older names. */
  text_1: oneOrMany.nullish(),
  text_2: oneOrMany.nullish(),
});

export interface ScoreRequest extends Pick<
  z.infer<typeof scoreSchema>,
  'model' | 'user' | 'priority' | 'timeout'
> {
  readonly pairs: readonly (readonly [string, string])[];
}

/**
 * Parses the body of `/v1/score`: one query with each document, or one query per document.
 * @throws ApiError 400 naming the field
 */
export function parseScore(json: unknown): ScoreRequest {
  const body = parseWith(scoreSchema, json);
  const queries = required(body.queries ?? body.text_1, 'queries');
  const second = required(body.documents ?? body.text_2, 'documents');
  if (queries.length !== 1 && queries.length !== second.length) {
    throw badRequest(
      `\`documents\`: there are ${second.length} for ${queries.length} queries; expected one query, or as many.`,
      'documents',
      'invalid_value',
    );
  }
  const [only = ''] = queries;
  const pairs = second.map((each, index) => [queries[index] ?? only, each] as const);
  return { ...body, pairs };
}

function required(texts: string[] | null | undefined, param: string): string[] {
  if (texts) return texts;
  throw badRequest(`\`${param}\` is required.`, param, 'missing_required_parameter');
}

export const teiEmbedSchema = z.looseObject({
  inputs: z.unknown(),
  normalize: z.literal(true, 'only what the model does itself is supported').nullish(),
  truncate: z.boolean().nullish(),
  prompt_name: shortText.nullish(),
  dimensions: z.int().min(1).nullish(),
});

/** Request to text-embeddings-inference's `/embed`. */
export interface TeiEmbedRequest extends Known<z.infer<typeof teiEmbedSchema>, 'inputs'> {
  readonly inputs: readonly (string | Int32Array)[];
}

/** @throws ApiError 400 naming the field */
export function parseTeiEmbed(json: unknown): TeiEmbedRequest {
  const { inputs, ...body } = parseWith(teiEmbedSchema, json);
  return { ...body, inputs: parseInputs(inputs, 'inputs') };
}

export const teiRerankSchema = z.looseObject({
  query: text,
  texts: documents,
  raw_scores: z.boolean().nullish(),
  return_text: z.boolean().nullish(),
  truncate: z.boolean().nullish(),
});

/** Request to text-embeddings-inference's `/rerank`. */
export type TeiRerankRequest = z.infer<typeof teiRerankSchema>;

/** @throws ApiError 400 naming the field */
export function parseTeiRerank(json: unknown): TeiRerankRequest {
  return parseWith(teiRerankSchema, json);
}
