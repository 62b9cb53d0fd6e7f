/** Which answers go on beyond their context, and what of the text stays then. */
import type { GrammarSource } from '../../grammar/grammar-source.ts';
import { LIMITS } from '../../limits.ts';
import { InvalidRequestError } from '../invalid-request.ts';
import type { ContextShift, ShiftedModel } from './context-shift.ts';
import type { GenerationRequest } from './generation.ts';

/** Settings that need the whole text, and how much of it stays. */
type WholeSettings = Pick<
  GenerationRequest,
  'beams' | 'promptLogprobs' | 'badWords' | 'images' | 'thought'
> & { readonly numKept?: number };

interface ShiftRequest {
  readonly settings: WholeSettings;
  readonly promptTokenIds: Int32Array;
  readonly grammar: GrammarSource | null;
  /** More than the context has room for. */
  readonly maxTokens: number;
  /** Client's name of the field that says so. */
  readonly field: string;
}

/**
 * @throws InvalidRequestError for what needs the whole text, for too many tokens, and where more than
 *   half of the context is to stay: then most of what is computed would be computed again and again
 */
export function shiftOf(
  { settings, promptTokenIds, grammar, maxTokens, field }: ShiftRequest,
  { bosTokenId }: ShiftedModel,
  contextLength: number,
): ContextShift {
  const context = `This model's maximum context length is ${contextLength} tokens.`;
  const whole = needsWhole(settings, grammar);
  if (whole !== null) {
    const message = `${context} With ${whole} an answer does not go on beyond it. Please lower \`${field}\`.`;
    throw new InvalidRequestError(message, field, 'context_length_exceeded');
  }
  const most = LIMITS.shiftedContexts * contextLength;
  if (maxTokens > most) {
    const message = `${context} An answer that goes on beyond it has at most ${most} tokens. Please lower \`${field}\`.`;
    throw new InvalidRequestError(message, field, 'context_length_exceeded');
  }
  const { numKept = 0 } = settings;
  const half = Math.floor(contextLength / 2);
  const numAsked = numKept === -1 ? promptTokenIds.length : numKept;
  if (numAsked > half) {
    const message = `\`n_keep\`: ${numAsked} tokens are more than half of the context of ${contextLength}, and \`${field}\` is more than it has room for.`;
    throw new InvalidRequestError(message, 'n_keep', 'invalid_value');
  }
  const isBos = bosTokenId !== null && promptTokenIds[0] === bosTokenId;
  // As llama-server counts: without the token that a prompt begins with.
  return { contextLength, numKept: Math.min(half, numAsked + (isBos && numKept !== -1 ? 1 : 0)) };
}

/** The part of a request that depends on all of its text; null where there is none. */
function needsWhole(settings: WholeSettings, grammar: GrammarSource | null): string | null {
  if (grammar !== null) return `\`${grammar.field}\``;
  if (settings.beams !== undefined) return '`use_beam_search`';
  if (settings.promptLogprobs !== null) return '`prompt_logprobs`';
  if (settings.badWords.length > 0) return '`bad_words`';
  if (settings.images !== undefined) return 'images';
  return settings.thought === undefined ? null : 'a bound on thoughts';
}
