/** The bodies of embeddings, reranking and scoring, as OpenAI, Jina, Cohere, vLLM and TEI have them. */
import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
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
export type Known<Body, Left extends string> = {
  readonly [K in keyof Body as string extends K ? never : K extends Left ? never : K]: Body[K];
};

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
