/** The body of /v1/embeddings, as OpenAI has it, with images as Jina, vLLM and Infinity have them. */
import { z } from 'zod';
import { badRequest } from '../errors.ts';
import { shortText } from '../schemas/fields.ts';
import { parseWith } from '../schemas/parse.ts';
import { common, type Known, truncateTokens } from './bodies.ts';
import {
  embeddedMessages,
  type MixedInput,
  parseMessages,
  parseMixedInputs,
} from './mixed-inputs.ts';

export const embeddingsSchema = z.looseObject({
  ...common,
  /** Texts, token ids and images. */
  input: z.unknown().optional(),
  /** One message, of which the text or the image is embedded, in place of `input`. */
  messages: embeddedMessages.nullish(),
  /** `image`: texts of `input` are addresses of images, or images in base64. */
  modality: z.enum(['text', 'image']).nullish(),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.int().min(1).nullish(),
  /** Which of the model's prompts comes before each text. */
  prompt_name: shortText.nullish(),
  truncate_prompt_tokens: truncateTokens,
});

/** Request to `/v1/embeddings`. */
export interface EmbeddingsRequest extends Known<
  z.infer<typeof embeddingsSchema>,
  'input' | 'messages' | 'modality'
> {
  readonly inputs: readonly MixedInput[];
  /** They came as messages: only models that take images are asked so. */
  readonly isChat: boolean;
}

/** @throws ApiError 400 naming the field */
export function parseEmbeddings(json: unknown): EmbeddingsRequest {
  const { input, messages, modality, ...body } = parseWith(embeddingsSchema, json);
  if (!messages)
    return { ...body, inputs: parseMixedInputs(input, 'input', modality ?? 'text'), isChat: false };
  if (input === undefined || input === null)
    return { ...body, inputs: [parseMessages(messages)], isChat: true };
  throw badRequest('`messages`: expected these or `input`, not both.', 'messages', 'invalid_value');
}
