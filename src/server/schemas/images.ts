/** Image parts of messages, as OpenAI's and Anthropic's APIs write them. */
import { z } from 'zod';
import { type ImagePart, imagePart } from '../../front/chat/chat-images.ts';
import { shortText } from './fields.ts';

const detail = z
  .enum(['auto', 'low', 'high', 'original'], { error: 'expected `auto`, `low` or `high`' })
  .nullish();

/** Part in chats. The object may be its URL alone, as in vLLM. */
export const imageUrlPart = z.looseObject({
  type: z.literal('image_url'),
  image_url: z.union([z.string(), z.looseObject({ url: z.string(), detail })], {
    error: 'expected an object with `url`',
  }),
});

/** Part in responses. */
export const inputImagePart = z
  .looseObject({
    type: z.literal('input_image'),
    image_url: z.string().nullish(),
    file_id: shortText.nullish(),
    detail,
  })
  .refine((part) => Boolean(part.image_url) !== Boolean(part.file_id), {
    error: 'expected `image_url` or `file_id`',
  });

/** Block in Anthropic's messages. */
export const imageBlock = z.looseObject({
  type: z.literal('image'),
  source: z.discriminatedUnion(
    'type',
    [
      z.looseObject({
        type: z.literal('base64'),
        media_type: z.enum(['image/png', 'image/jpeg', 'image/webp', 'image/gif'], {
          error: 'expected `image/png`, `image/jpeg`, `image/webp` or `image/gif`',
        }),
        data: z.string(),
      }),
      z.looseObject({ type: z.literal('url'), url: z.string() }),
      z.looseObject({ type: z.literal('file'), file_id: shortText }),
    ],
    { error: 'expected a source of type `base64`, `url` or `file`' },
  ),
});

export function imageOfUrlPart(part: z.infer<typeof imageUrlPart>, field: string): ImagePart {
  const { image_url: given } = part;
  const isBare = typeof given === 'string';
  const url = isBare ? given : given.url;
  return imagePart({ type: 'url', url }, `${field}.image_url`, isBare ? null : given.detail);
}

export function imageOfBlock({ source }: z.infer<typeof imageBlock>, field: string): ImagePart {
  switch (source.type) {
    case 'base64':
      return imagePart({ type: 'base64', data: source.data }, `${field}.source.data`);
    case 'url':
      return imagePart({ type: 'url', url: source.url }, `${field}.source.url`);
    case 'file':
      return imagePart({ type: 'file', id: source.file_id }, `${field}.source.file_id`);
  }
}
