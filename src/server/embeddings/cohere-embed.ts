/** Vectors of texts and images as Cohere has them: /v2/embed. */
import { z } from 'zod';
import type { Embeddings } from '../../front/embedding/embed-request.ts';
import { LIMITS } from '../../limits.ts';
import { badRequest } from '../errors.ts';
import { holdAnswer } from '../http/hold-answer.ts';
import { sendJsonPieces } from '../http/send-pieces.ts';
import { createId } from '../ids.ts';
import { boundedList } from '../schemas/bounded-list.ts';
import { parseWith } from '../schemas/parse.ts';
import type { Answer } from './answer.ts';
import { bytesOfVectors, joined, toBase64, toJson } from './answers.ts';
import { common } from './bodies.ts';
import { embedMixed } from './mixed.ts';
import { imageOfText, type MixedInput } from './mixed-inputs.ts';

/** Names of models' prompts, by what Cohere calls the texts that they come before. */
const PROMPTS = {
  search_query: ['search_query', 'query'],
  search_document: ['search_document', 'document', 'passage'],
  classification: ['classification'],
  clustering: ['clustering'],
  image: [],
} as const;

const WRITTEN = {
  float: toJson,
  base64: toBase64,
  ubinary: (vector: Float32Array) => `[${packed(vector).join(',')}]`,
  binary: (vector: Float32Array) =>
    `[${Array.from(packed(vector), (byte) => byte - 128).join(',')}]`,
} as const;

type EmbeddingType = keyof typeof WRITTEN;
const TYPES = Object.keys(WRITTEN) as EmbeddingType[];

/** Fields that would change the answer. */
const UNSUPPORTED = ['inputs', 'max_tokens'];

export const cohereEmbedSchema = z.looseObject({
  ...common,
  texts: boundedList(z.string(), LIMITS.encoderTexts)
    .refine((list) => list.length > 0, { error: 'expected at least one text' })
    .nullish(),
  /** Data URLs, in place of texts. */
  images: boundedList(z.string(), LIMITS.encoderTexts)
    .refine((list) => list.length > 0, { error: 'expected at least one image' })
    .nullish(),
  /** The model's prompt for such texts comes before each, if it has one. */
  input_type: z.enum(Object.keys(PROMPTS) as (keyof typeof PROMPTS)[]).nullish(),
  embedding_types: boundedList(
    z.enum(TYPES, `expected ${TYPES.join(', ')}: others need ranges of the model`),
    TYPES.length,
  ).nullish(),
  output_dimension: z.int().min(1).nullish(),
  /** Texts that are too long are cut at their end, or refused. */
  truncate: z.enum(['NONE', 'END'], 'expected NONE or END').nullish(),
});

export const cohereEmbed: Answer = async (runtime, json, caller, c, reader) => {
  const body = parseWith(cohereEmbedSchema, json);
  const unsupported = UNSUPPORTED.find((name) => (body[name] ?? null) !== null);
  if (unsupported !== undefined) {
    throw badRequest(`\`${unsupported}\` is not supported.`, unsupported, 'unsupported_parameter');
  }
  const options = {
    dimensions: body.output_dimension ?? null,
    promptName: body.input_type ? PROMPTS[body.input_type] : null,
    truncate: body.truncate !== 'NONE',
    priority: body.priority ?? 0,
  };
  const inputs = inputsOf(body);
  const embeddings = await embedMixed(runtime, inputs, options, caller, reader);
  holdAnswer(c, { numBytes: bytesOfVectors(embeddings) });
  const types = [...new Set(body.embedding_types ?? ['float' as const])];
  return await sendJsonPieces(c, cohereEmbedAnswer(embeddings, createId('embed-'), types));
};

/** @throws ApiError 400 */
function inputsOf({ texts, images }: z.infer<typeof cohereEmbedSchema>): readonly MixedInput[] {
  if (texts && images) {
    throw badRequest('`images`: expected these or `texts`, not both.', 'images', 'invalid_value');
  }
  if (images) return images.map((image, at) => imageOfText(image, `images.${at}`));
  if (texts) return texts;
  throw badRequest('`texts` is required.', 'texts', 'missing_required_parameter');
}

export function* cohereEmbedAnswer(
  { vectors, numTokens }: Pick<Embeddings, 'vectors' | 'numTokens'>,
  id: string,
  types: readonly EmbeddingType[],
): Generator<string, void> {
  yield `{"id":${JSON.stringify(id)},"embeddings":{`;
  for (const [index, type] of types.entries()) {
    yield `${index === 0 ? '' : ','}"${type}":[`;
    yield* joined(vectors, WRITTEN[type]);
    yield ']';
  }
  const meta = { api_version: { version: '2' }, billed_units: { input_tokens: numTokens } };
  yield `},"meta":${JSON.stringify(meta)},"response_type":"embeddings_by_type"}`;
}

/** A bit for each number, 1 above 0; the first is the highest of the first byte. */
function packed(vector: Float32Array): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(vector.length / 8));
  for (const [at, value] of vector.entries()) {
    if (value > 0) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (128 >> (at & 7));
  }
  return bytes;
}
