import { badRequest } from '../errors.ts';
import type { GenerationFields } from '../schemas/fields.ts';

/**
 * How many of the likeliest tokens to score the prompt with, for `prompt_logprobs` and for an echo.
 * @throws ApiError 400 when `prompt_logprobs` would be streamed, which has no form.
 */
export function promptLogprobsOf(fields: GenerationFields, echo: number | null): number | null {
  const asked = fields.prompt_logprobs ?? null;
  if (asked !== null && fields.stream === true) {
    throw badRequest('`prompt_logprobs` cannot be streamed.', 'prompt_logprobs', 'invalid_value');
  }
  return asked === null || echo === null ? (asked ?? echo) : Math.max(asked, echo);
}
