import { z } from 'zod';
import { shortText } from './fields.ts';

/** Body of /v1/prefetch: a prompt, or otherwise the fields of a chat completion that make one. */
export const prefetchBody = z.looseObject({
  model: shortText.nullish(),
  prompt: z.unknown().optional(),
  /** As in requests that are to find it. */
  cache_salt: shortText.nullish(),
  /** Keep it before all others; the operator's alone. */
  pin: z.boolean().nullish(),
});
