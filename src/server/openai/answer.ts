/** What the two completion APIs share: the parts of an answer that don't depend on its shape. */
import { randomUUID } from 'node:crypto';
import type { FanOutRequest } from '../../front/generation/fan-out.ts';
import type { GenerationDelta } from '../../front/generation/generation.ts';
import type { TokenLogprob } from '../../front/generation/token-logprob.ts';
import { LIMITS } from '../../limits.ts';
import { badRequest } from '../errors.ts';
import type { GenerationFields } from '../schemas/fields.ts';
import type { UsageCounter } from './usage.ts';

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

/** Turns the deltas of a generation into the chunks of one API; knows nothing of transports. */
export interface ChunkShape {
  /** The chunks that `delta` becomes, in order; none when it has nothing to show. */
  push(delta: GenerationDelta): JsonObject[];
  /** The chunks that follow the last delta of the last choice. */
  end(): JsonObject[];
}

/** One choice of a generation, gathered for an answer in one piece. */
export interface GatheredAnswer {
  readonly text: string;
  readonly tokenIds: readonly number[];
  /** One for each of `tokenIds`; empty when not asked for. */
  readonly logprobs: readonly TokenLogprob[];
  /** One for each prompt token but the first; empty when not asked for. */
  readonly promptLogprobs: readonly TokenLogprob[];
  readonly numCachedTokens: number;
  readonly finishReason: 'stop' | 'length';
  readonly stopReason: string | number | null;
}

/** One checked request, ready to run over any transport. */
export interface PreparedCompletion {
  readonly request: FanOutRequest;
  readonly stream: boolean;
  /** A fresh shape, for one streamed answer. */
  chunks(): ChunkShape;
  /** The answer in one piece. @param answers one for each sequence of the request, in order */
  whole(answers: readonly GatheredAnswer[]): JsonObject;
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

/** The `usage` field of a chunk before the last: running, null, or left out. */
export function chunkUsage(options: AnswerOptions, counter: UsageCounter): JsonObject {
  if (options.continuousUsage) return { usage: counter.usage };
  return options.includeUsage ? { usage: null } : {};
}

/**
 * Runs all choices of a generation to their ends; they come in order.
 * @throws ApiError 400 when they come to more log-probabilities than an answer in one piece may have
 */
export async function gather(
  deltas: AsyncIterable<GenerationDelta>,
  { prompts, numChoices }: FanOutRequest,
): Promise<GatheredAnswer[]> {
  const answers = Array.from({ length: prompts.length * numChoices }, () => new AnswerGatherer());
  let numFinished = 0;
  let numLogprobs = 0;
  for await (const delta of deltas) {
    numLogprobs += countLogprobs(delta.logprobs) + countLogprobs(delta.promptLogprobs);
    if (numLogprobs > LIMITS.answeredLogprobs) {
      const message = `The answer has more than ${LIMITS.answeredLogprobs} log-probabilities, too many for one piece. Please stream it, or ask for fewer.`;
      throw badRequest(message, 'logprobs', 'too_many_logprobs');
    }
    answers[delta.choice ?? 0]?.add(delta);
    if (delta.finishReason !== null && ++numFinished === answers.length) break;
  }
  return answers.map((answer) => answer.finish());
}

function countLogprobs(entries: readonly TokenLogprob[] = []): number {
  return entries.reduce((sum, { top }) => sum + 1 + top.length, 0);
}

class AnswerGatherer {
  #text = '';
  readonly #tokenIds: number[] = [];
  readonly #logprobs: TokenLogprob[] = [];
  #promptLogprobs: readonly TokenLogprob[] = [];
  #numCachedTokens = 0;
  #last: GenerationDelta | undefined;

  add(delta: GenerationDelta): void {
    this.#text += delta.text;
    for (const tokenId of delta.tokenIds) this.#tokenIds.push(tokenId);
    for (const logprob of delta.logprobs ?? []) this.#logprobs.push(logprob);
    this.#promptLogprobs = delta.promptLogprobs ?? this.#promptLogprobs;
    this.#numCachedTokens += delta.numCachedTokens ?? 0;
    this.#last = delta;
  }

  finish(): GatheredAnswer {
    const { finishReason = null, stopReason = null } = this.#last ?? {};
    if (finishReason === null) throw new Error('the generation ended without a finish reason');
    return {
      text: this.#text,
      tokenIds: this.#tokenIds,
      logprobs: this.#logprobs,
      promptLogprobs: this.#promptLogprobs,
      numCachedTokens: this.#numCachedTokens,
      finishReason,
      stopReason,
    };
  }
}
