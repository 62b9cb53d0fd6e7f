/** How long a prompt may be, before and after its tokens are known. */
import { PromptTooLongError } from '../../front/prompts/prompt-job.ts';
import { LIMITS } from '../../limits.ts';
import type { ServedModel } from '../context.ts';
import { badRequest } from '../errors.ts';

/**
 * Most tokens of a prompt for the model. One that is to be truncated may be longer: which of its
 * tokens are the last shows only when all are made.
 */
export function maxPromptTokens(
  fields: { readonly truncate_prompt_tokens?: number | null | undefined },
  { maxModelLen }: ServedModel,
): number {
  const { truncate_prompt_tokens: numKept } = fields;
  return numKept === undefined || numKept === null ? maxModelLen : Infinity;
}

/** Most tokens of an answer that lists them. */
export function maxAnsweredTokens({ maxModelLen }: ServedModel): number {
  return Math.max(maxModelLen, LIMITS.answeredTokens);
}

/** @throws ApiError 400 */
export function requireAnswerable(numTokens: number, model: ServedModel, param: string): void {
  const max = maxAnsweredTokens(model);
  if (numTokens > max) throw tooLong(`${numTokens}`, max, param);
}

/** An error of the prompt encoder as the client of `param` is to have it. */
export function inClientWords(error: unknown, maxTokens: number, param: string): unknown {
  if (!(error instanceof PromptTooLongError)) return error;
  return tooLong(`at least ${error.minTokens}`, maxTokens, param);
}

/** Begins with the wording that OpenAI's clients look for. */
function tooLong(numTokens: string, maxTokens: number, param: string) {
  return badRequest(
    `This model's maximum context length is ${maxTokens} tokens. However, the prompt has ${numTokens} tokens. Please shorten it.`,
    param,
    'context_length_exceeded',
  );
}
