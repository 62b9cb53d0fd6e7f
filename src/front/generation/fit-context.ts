/** Puts a prompt and what is asked of its continuation together, within the model's context. */
import type { GrammarSource } from '../../grammar/grammar-source.ts';
import { InvalidRequestError } from '../invalid-request.ts';
import { type ShiftedModel, shiftOf } from './context-shift.ts';
import type { GenerationDefaults } from '../text/generation-config.ts';
import type { ContextShift, GenerationRequest, GenerationSettings } from './generation.ts';

/** Longest text of a model, and whether answers may go on beyond it: null and left out, not. */
export interface TextContext {
  readonly maxModelLen: number;
  readonly contextShift?: ShiftedModel | null;
  /** Lengths of answers; left out where neither the model nor the operator names one. */
  readonly samplingDefaults?: Pick<GenerationDefaults, 'maxNewTokens' | 'mostNewTokens'>;
}

/** How prompt and output are to share the context. */
export interface ContextLimits {
  /** Tokens of output that the client asked for; null when it left that open. */
  readonly maxTokens: number | null;
  /** Used if the client did not say, as far as it fits; null is all that fits. */
  readonly defaultMaxTokens: number | null;
  /** Number of tokens of the prompt to keep; -1 keeps as many as fit, null all. */
  readonly truncatePromptTokens: number | null;
  /** End of the prompt that is cut; `left`, its start, if left out. */
  readonly truncationSide?: 'left' | 'right';
  /** Grammar of the output; null and left out for none. */
  readonly grammar?: GrammarSource | null;
  /** Client's names of the fields, for errors. */
  readonly fields: { readonly prompt: string; readonly maxTokens: string };
}

/**
 * @throws InvalidRequestError when the prompt is empty, it and the output don't fit the model's context,
 *   or what is asked of it needs tokens alone
 */
export function fitContext(
  settings: GenerationSettings,
  promptTokenIds: Int32Array,
  asked: ContextLimits,
  context: TextContext,
): GenerationRequest {
  const { maxModelLen } = context;
  const limits = bounded(asked, context);
  if (promptTokenIds.length === 0) {
    const { prompt: field } = limits.fields;
    throw new InvalidRequestError(`\`${field}\` has no tokens.`, field, 'invalid_value');
  }
  const prompt = truncate(promptTokenIds, asked, maxModelLen);
  if (settings.images !== undefined) requireWhole(settings, promptTokenIds, prompt);
  const shift = toShift(settings, prompt, limits, context);
  const shifted = shift === null ? null : limits.maxTokens;
  const maxTokens = shifted ?? resolveMaxTokens(prompt.length, limits, maxModelLen);
  if (settings.minTokens > maxTokens) {
    throw new InvalidRequestError(
      `\`min_tokens\` is ${settings.minTokens}, more than the ${maxTokens} tokens that may be generated.`,
      'min_tokens',
      'invalid_value',
    );
  }
  const { numKept: _numKept, ...others } = settings;
  return { ...others, promptTokenIds: prompt, maxTokens, ...(shift && { shift }) };
}

/** As vLLM has it: the model's length where the request leaves it open, the operator's in any case. */
function bounded(asked: ContextLimits, { samplingDefaults = {} }: TextContext): ContextLimits {
  const { maxNewTokens, mostNewTokens = Infinity } = samplingDefaults;
  const { maxTokens, defaultMaxTokens } = asked;
  if (maxTokens !== null) return { ...asked, maxTokens: Math.min(maxTokens, mostNewTokens) };
  const length = Math.min(defaultMaxTokens ?? maxNewTokens ?? Infinity, mostNewTokens);
  return { ...asked, defaultMaxTokens: length === Infinity ? null : length };
}

/** Null where the answer fits, its length is open, or no answer may go on beyond the context. */
function toShift(
  settings: GenerationSettings,
  promptTokenIds: Int32Array,
  { maxTokens, fields, grammar = null }: ContextLimits,
  { maxModelLen, contextShift = null }: TextContext,
): ContextShift | null {
  const room = maxModelLen - promptTokenIds.length;
  if (contextShift === null || maxTokens === null || room < 1 || maxTokens <= room) return null;
  const { maxTokens: field } = fields;
  const asked = { settings, promptTokenIds, grammar, maxTokens, field };
  return shiftOf(asked, contextShift, maxModelLen);
}

/** Embeddings have their places in the whole prompt, and no token's probability says how likely one is. */
function requireWhole(
  { promptLogprobs }: GenerationSettings,
  promptTokenIds: Int32Array,
  kept: Int32Array,
): void {
  if (kept.length < promptTokenIds.length) {
    throw new InvalidRequestError(
      'A prompt with images cannot be cut by `truncate_prompt_tokens`.',
      'truncate_prompt_tokens',
      'invalid_value',
    );
  }
  if (promptLogprobs !== null) {
    throw new InvalidRequestError(
      'A prompt with images has no log-probabilities: leave `prompt_logprobs` out.',
      'prompt_logprobs',
      'invalid_value',
    );
  }
}

/** The wording that OpenAI's clients look for. */
function resolveMaxTokens(
  numPrompt: number,
  { maxTokens, defaultMaxTokens, fields }: ContextLimits,
  maxModelLen: number,
): number {
  const room = maxModelLen - numPrompt;
  const context = `This model's maximum context length is ${maxModelLen} tokens.`;
  if (room < 1) {
    throw new InvalidRequestError(
      `${context} However, the prompt has ${numPrompt} tokens, which leaves no room for output. Please shorten it.`,
      fields.prompt,
      'context_length_exceeded',
    );
  }
  if (maxTokens === null) return Math.min(defaultMaxTokens ?? room, room);
  if (maxTokens <= room) return maxTokens;
  throw new InvalidRequestError(
    `${context} However, you requested ${numPrompt + maxTokens} tokens (${numPrompt} in the prompt, ${maxTokens} for the output). Please shorten the prompt or lower \`${fields.maxTokens}\`.`,
    fields.maxTokens,
    'context_length_exceeded',
  );
}

/** The prompt's last tokens, or its first, as many as are to be kept. */
function truncate(
  promptTokenIds: Int32Array,
  limits: ContextLimits,
  maxModelLen: number,
): Int32Array {
  const { truncatePromptTokens: numKept, truncationSide, maxTokens, defaultMaxTokens } = limits;
  if (numKept === null) return promptTokenIds;
  if (numKept === 0 || numKept > maxModelLen) {
    throw new InvalidRequestError(
      `\`truncate_prompt_tokens\`: expected -1 or a number from 1 to the model's context length of ${maxModelLen}.`,
      'truncate_prompt_tokens',
      'invalid_value',
    );
  }
  const room = Math.max(1, maxModelLen - (maxTokens ?? defaultMaxTokens ?? 1));
  const length = numKept === -1 ? room : numKept;
  return truncationSide === 'right'
    ? promptTokenIds.slice(0, length)
    : promptTokenIds.slice(-length);
}
