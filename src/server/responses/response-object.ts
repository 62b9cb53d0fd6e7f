/** The `response` object: what was asked, what came of it. */
import { warningsOf } from '../answers/skipped-tools.ts';
import type { ServedModel } from '../runtimes.ts';
import type { TokenUsage } from '../../front/generation/token-usage.ts';
import type { ErrorEnvelope } from '../errors.ts';
import type { JsonObject } from '../json-object.ts';
import type { ResponseBody } from '../schemas/responses.ts';
import type { OutputItem } from './items.ts';

export type ResponseStatus =
  | 'queued'
  | 'in_progress'
  | 'completed'
  | 'incomplete'
  | 'failed'
  | 'cancelled';

/** Fields of a response that change while it runs. */
export interface ResponseState {
  readonly status: ResponseStatus;
  readonly output: readonly OutputItem[];
  readonly usage: TokenUsage | null;
  readonly error: ErrorEnvelope['error'] | null;
  /** Unix time in seconds; null before it completed. */
  readonly completedAt: number | null;
}

export const INITIAL_STATE: ResponseState = {
  status: 'in_progress',
  output: [],
  usage: null,
  error: null,
  completedAt: null,
};

export interface ResponseHead {
  readonly id: string;
  /** Unix time in seconds. */
  readonly createdAt: number;
  readonly isStored: boolean;
}

/**
 * Response object with the request's fields, and the defaults that took effect.
 * @param skipped types of tools that were left out
 */
export function toResponseObject(
  head: ResponseHead,
  body: ResponseBody,
  model: ServedModel,
  state: ResponseState,
  skipped: readonly string[],
): JsonObject {
  const { samplingDefaults: defaults } = model;
  const conversation = conversationIdOf(body);
  return {
    id: head.id,
    object: 'response',
    created_at: head.createdAt,
    completed_at: state.completedAt,
    status: state.status,
    background: body.background ?? false,
    error: toResponseError(state.error),
    incomplete_details: state.status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    model: model.id,
    output: state.output,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    ...(conversation === null ? {} : { conversation: { id: conversation } }),
    prompt_cache_key: body.prompt_cache_key ?? null,
    prompt_cache_retention: body.prompt_cache_retention ?? null,
    reasoning: {
      effort: body.reasoning?.effort ?? null,
      summary: body.reasoning?.summary ?? null,
    },
    safety_identifier: body.safety_identifier ?? null,
    service_tier: body.service_tier,
    store: head.isStored,
    temperature: body.temperature ?? defaults.temperature ?? 1,
    text: { ...body.text, format: body.text?.format ?? { type: 'text' } },
    tool_choice: body.tool_choice ?? 'auto',
    tools: body.tools ?? [],
    top_logprobs: body.top_logprobs ?? 0,
    top_p: body.top_p ?? defaults.topP ?? 1,
    truncation: body.truncation ?? 'disabled',
    usage: toUsage(state.usage),
    user: body.user ?? null,
    metadata: body.metadata ?? {},
    ...(skipped.length > 0 ? { warnings: warningsOf(skipped) } : {}),
  };
}

/** Id of the conversation that a response belongs to; null for none. */
export function conversationIdOf({
  conversation = null,
}: Pick<ResponseBody, 'conversation'>): string | null {
  return typeof conversation === 'string' ? conversation : (conversation?.id ?? null);
}

function toResponseError(error: ErrorEnvelope['error'] | null): JsonObject | null {
  if (error === null) return null;
  const { type, message } = error;
  // The codes that this API has.
  return { code: type === 'invalid_request_error' ? 'invalid_prompt' : 'server_error', message };
}

export function toUsage(usage: TokenUsage | null): JsonObject | null {
  if (usage === null) return null;
  return {
    input_tokens: usage.numPromptTokens,
    // Nobody pays for what is kept: nothing is counted as written.
    input_tokens_details: { cached_tokens: usage.numCachedTokens, cache_write_tokens: 0 },
    output_tokens: usage.numOutputTokens,
    output_tokens_details: { reasoning_tokens: usage.numReasoningTokens ?? 0 },
    total_tokens: usage.numPromptTokens + usage.numOutputTokens,
  };
}
