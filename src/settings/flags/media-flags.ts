import { isMediaDomain } from '../../front/images/media-domains.ts';
import { LIMITS } from '../../limits.ts';
import type { FlagSpec } from './flag-spec.ts';
import { listOf, readable, text } from './values.ts';

const domain = readable(
  'a host such as `example.com`, `*.example.com` or `10.0.0.5:9000`',
  (given) => (isMediaDomain(given) ? given : undefined),
);

/** Images in requests, under vLLM's names. */
export const MEDIA_FLAGS = {
  limitMmPerPrompt: {
    flags: '--limit-mm-per-prompt <json>',
    description: 'images that a chat may have, such as {"image": 8}',
    schema: readable('a JSON object such as {"image": 8}', imagesOf),
    default: LIMITS.promptImages,
    defaultText: `{"image": ${LIMITS.promptImages}}`,
  },
  allowedMediaDomains: {
    flags: '--allowed-media-domains <hosts>',
    description: 'hosts that images of requests are fetched from; *.example.com is all below it',
    schema: listOf(domain).optional(),
    list: 'commas',
    defaultText: 'none',
  },
  allowedLocalMediaPath: {
    flags: '--allowed-local-media-path <folder>',
    description:
      'folder whose images requests may name (file:// URLs), links out of it not followed',
    schema: text.optional(),
    defaultText: 'none',
  },
} satisfies Record<string, FlagSpec>;

/** Undefined for what is not well formed, or allows other media. */
function imagesOf(json: string): number | undefined {
  let limits: unknown;
  try {
    limits = JSON.parse(json);
  } catch {
    return undefined;
  }
  if (typeof limits !== 'object' || limits === null || Array.isArray(limits)) return undefined;
  const { image = LIMITS.promptImages, ...others }: Record<string, unknown> = { ...limits };
  const count = typeof image === 'number' && Number.isSafeInteger(image) && image >= 0 ? image : -1;
  const isImagesAlone = Object.values(others).every((each) => each === 0);
  return count >= 0 && isImagesAlone ? count : undefined;
}
