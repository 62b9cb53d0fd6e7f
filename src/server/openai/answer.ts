/** What the two completion APIs share: the parts of an answer that don't depend on its shape. */
import { randomUUID } from 'node:crypto';
import type { GenerationDelta, GenerationRequest } from '../../front/generation.ts';
import type { GenerationFields } from '../schemas/fields.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/** Same in every chunk of one answer. */
export interface AnswerHead {
  readonly id: string;
  /** Unix time in seconds. */
  readonly created: number;
  readonly model: string;
}

export interface AnswerOptions {
  readonly includeUsage: boolean;
  /** Running usage in every chunk. */
  readonly continuousUsage: boolean;
  readonly returnTokenIds: boolean;
}

/** Turns the deltas of one generation into the chunks of one API; knows nothing of transports. */
export interface ChunkShape {
  /** The chunks that `delta` becomes, in order; none when it has nothing to show. */
  push(delta: GenerationDelta): JsonObject[];
  /** The chunks that follow the last delta. */
  end(): JsonObject[];
}

/** A whole generation, gathered for an answer in one piece. */
export interface GatheredAnswer {
  readonly text: string;
  readonly tokenIds: readonly number[];
  readonly finishReason: 'stop' | 'length';
  readonly stopReason: string | number | null;
}

/** One checked request, ready to run over any transport. */
export interface PreparedCompletion {
  readonly request: GenerationRequest;
  readonly stream: boolean;
  /** A fresh shape, for one streamed answer. */
  chunks(): ChunkShape;
  /** The answer in one piece. */
  whole(answer: GatheredAnswer): JsonObject;
}

export function createHead(prefix: 'chatcmpl' | 'cmpl', model: string): AnswerHead {
  return {
    id: `${prefix}-${randomUUID().replaceAll('-', '')}`,
    created: Math.floor(Date.now() / 1000),
    model,
  };
}

export function answerOptions(fields: GenerationFields): AnswerOptions {
  const includeUsage = fields.stream_options?.include_usage ?? false;
  return {
    includeUsage,
    // As in vLLM, running usage is a refinement of the final one.
    continuousUsage: includeUsage && (fields.stream_options?.continuous_usage_stats ?? false),
    returnTokenIds: fields.return_token_ids ?? false,
  };
}

export function usage(numPromptTokens: number, numCompletionTokens: number): JsonObject {
  return {
    prompt_tokens: numPromptTokens,
    completion_tokens: numCompletionTokens,
    total_tokens: numPromptTokens + numCompletionTokens,
  };
}

/** The `usage` field of a chunk before the last: running, null, or left out. */
export function chunkUsage(
  options: AnswerOptions,
  numPromptTokens: number,
  numCompletionTokens: number,
): JsonObject {
  if (options.continuousUsage) return { usage: usage(numPromptTokens, numCompletionTokens) };
  return options.includeUsage ? { usage: null } : {};
}

/** Runs a generation to its end. */
export async function gather(deltas: AsyncIterable<GenerationDelta>): Promise<GatheredAnswer> {
  let text = '';
  const tokenIds: number[] = [];
  for await (const delta of deltas) {
    text += delta.text;
    for (const tokenId of delta.tokenIds) tokenIds.push(tokenId);
    const { finishReason, stopReason } = delta;
    if (finishReason !== null) return { text, tokenIds, finishReason, stopReason };
  }
  throw new Error('the generation ended without a finish reason');
}
