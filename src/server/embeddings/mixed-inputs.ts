/** Texts and images as inputs of embeddings and scores: in the forms of Jina, OpenAI's messages, vLLM and Infinity. */
import { z } from 'zod';
import { type ImagePart, imagePart } from '../../front/chat/chat-images.ts';
import { LIMITS } from '../../limits.ts';
import { badRequest } from '../errors.ts';
import { boundedList } from '../schemas/bounded-list.ts';
import { imageOfUrlPart, imageUrlPart } from '../schemas/images.ts';
import { parseWith } from '../schemas/parse.ts';
import { parseInputs } from './bodies.ts';

/** A text, its token ids with the special ones, or an image. */
export type MixedInput = string | Int32Array | ImagePart;

export function isText(input: MixedInput): input is Exclude<MixedInput, ImagePart> {
  return typeof input === 'string' || input instanceof Int32Array;
}

export function isImage(input: MixedInput): input is ImagePart {
  return !isText(input);
}

const fields = {
  text: z.string().nullish(),
  /** A URL of any scheme that is allowed, or base64. */
  image: z.string().nullish(),
  image_url: imageUrlPart.shape.image_url.nullish(),
};
type Fields = z.infer<z.ZodObject<typeof fields>>;

const isOne = ({ text, image, image_url: url }: Fields) =>
  [text, image, url].filter((each) => (each ?? null) !== null).length === 1;
const ONE = { error: 'expected one of `text`, `image` and `image_url`' };

const part = z.looseObject(fields).refine(isOne, ONE);
const parts = boundedList(part, 1).refine(({ length }) => length === 1, {
  error: 'expected one text or one image',
});

/** A text or an image, or a list with one as vLLM's scores have it. */
export const mixedItem = z
  .looseObject({ ...fields, content: parts.nullish() })
  .refine((item) => (item.content ?? null) !== null || isOne(item), ONE);

/** Messages of which one is embedded: vLLM's form for images. */
export const embeddedMessages = boundedList(
  z.looseObject({ role: z.string().nullish(), content: z.union([z.string(), parts]) }),
  1,
).refine(({ length }) => length === 1, { error: 'expected one message' });

/** @param field where in the body it is */
export function mixedInputOf(item: z.infer<typeof mixedItem>, field: string): string | ImagePart {
  const [inner] = item.content ?? [];
  const at = inner === undefined ? field : `${field}.content.0`;
  const { text, image, image_url: url } = inner ?? item;
  if (typeof text === 'string') return text;
  if (typeof image === 'string') return imageOfText(image, `${at}.image`);
  return imageOfUrlPart({ type: 'image_url', image_url: url ?? '' }, at);
}

/** @param text a URL, or base64 */
export function imageOfText(text: string, field: string): ImagePart {
  return imagePart(
    /^(?:data|https?|file):/i.test(text)
      ? { type: 'url', url: text }
      : { type: 'base64', data: text },
    field,
  );
}

/**
 * Inputs of embeddings: texts and token ids as everywhere, and objects among them.
 * @param modality `image` for texts that are images, as Infinity has it
 * @throws ApiError 400 naming the field
 */
export function parseMixedInputs(
  value: unknown,
  param: string,
  modality: 'text' | 'image' = 'text',
): readonly MixedInput[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  const isMixed = modality === 'image' || list.some(isObject);
  if (!isMixed || list.length === 0 || list.length > LIMITS.encoderTexts) {
    return parseInputs(value, param);
  }
  return list.map((item, index) => {
    const field = Array.isArray(value) ? `${param}.${index}` : param;
    if (typeof item === 'string' && modality === 'image') return imageOfText(item, field);
    if (isObject(item)) {
      const parsed = parseWith(mixedItem, item, [field]);
      return notEmpty(mixedInputOf(parsed, field), field);
    }
    const [only, another] = parseInputs(item, field);
    if (only !== undefined && another === undefined) return only;
    throw badRequest(`\`${field}\`: expected one input.`, field, 'invalid_value');
  });
}

/** The text or the image of messages. @throws ApiError 400 naming the field */
export function parseMessages(messages: z.infer<typeof embeddedMessages>): MixedInput {
  const [message] = messages;
  const field = 'messages.0.content';
  const { content = '' } = message ?? {};
  if (typeof content === 'string') return notEmpty(content, field);
  const [only] = content;
  return notEmpty(mixedInputOf({ ...only }, `${field}.0`), `${field}.0`);
}

function notEmpty<Input extends MixedInput>(input: Input, field: string): Input {
  if (input !== '') return input;
  throw badRequest(`\`${field}\` must not be empty.`, field, 'invalid_value');
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
