/** How long a prompt may be, before and after its tokens are known. */
import { LIMITS } from '../../limits.ts';
import { InvalidRequestError } from '../invalid-request.ts';
import { MissingTokenError } from '../text/model-vocabulary.ts';
import { PromptTooLongError } from './prompt-job.ts';

interface ModelReach {
  /** Longest prompt plus output, in tokens. */
  readonly maxModelLen: number;
}

/**
 * Most tokens of a prompt for the model. A prompt that will be truncated may be longer: its last
 * tokens are known only once all are made.
 * @param numKept what it is to be truncated to; null for as it is
 */
export function maxPromptTokens(
  numKept: number | null | undefined,
  { maxModelLen }: ModelReach,
): number {
  return numKept === undefined || numKept === null ? maxModelLen : Infinity;
}

/** Most tokens of an answer that lists them. */
export function maxAnsweredTokens({ maxModelLen }: ModelReach): number {
  return Math.max(maxModelLen, LIMITS.answeredTokens);
}

/** @throws InvalidRequestError */
export function requireAnswerable(numTokens: number, model: ModelReach, field: string): void {
  const max = maxAnsweredTokens(model);
  if (numTokens > max) throw tooLong(`${numTokens}`, max, field);
}

/** An error of the prompt encoder as the client of `field` is to have it. */
export function inClientWords(error: unknown, maxTokens: number, field: string): unknown {
  if (error instanceof MissingTokenError) {
    return new InvalidRequestError(error.message, field, error.code);
  }
  if (!(error instanceof PromptTooLongError)) return error;
  return tooLong(`at least ${error.minTokens}`, maxTokens, field);
}

/** Begins with the wording that OpenAI's clients look for. */
function tooLong(numTokens: string, maxTokens: number, field: string): InvalidRequestError {
  return new InvalidRequestError(
    `This model's maximum context length is ${maxTokens} tokens. However, the prompt has ${numTokens} tokens. Please shorten it.`,
    field,
    'context_length_exceeded',
  );
}
