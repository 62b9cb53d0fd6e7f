/**
 * Runs a chat completion for the APIs that are built over chat: a chat body goes in, and what the
 * model says comes out as plain deltas, the same whatever the API in front of it looks like.
 */
import { z } from 'zod';
import type { Caller } from '../../front/caller.ts';
import type { ServerContext } from '../context.ts';
import { startGeneration } from '../generation/start-generation.ts';
import type { JsonObject } from './answer.ts';
import { prepareChatCompletion } from './chat-completions.ts';

const chatChunk = z.looseObject({
  choices: z.array(
    z.looseObject({
      delta: z.looseObject({
        content: z.string().nullish(),
        reasoning_content: z.string().nullish(),
        tool_calls: z
          .array(
            z.looseObject({
              index: z.int(),
              id: z.string().nullish(),
              function: z.looseObject({
                name: z.string().nullish(),
                arguments: z.string().nullish(),
              }),
            }),
          )
          .nullish(),
      }),
      logprobs: z.looseObject({ content: z.array(z.looseObject({})).nullish() }).nullish(),
      finish_reason: z.string().nullish(),
      stop_reason: z.union([z.string(), z.number()]).nullish(),
    }),
  ),
  usage: z
    .looseObject({
      prompt_tokens: z.int(),
      completion_tokens: z.int(),
      prompt_tokens_details: z.looseObject({ cached_tokens: z.int().nullish() }).nullish(),
      completion_tokens_details: z.looseObject({ reasoning_tokens: z.int().nullish() }).nullish(),
    })
    .nullish(),
});

export interface ToolCallDelta {
  /** Which of the answer's calls this is a piece of. */
  readonly index: number;
  /** Set on the first piece of a call. */
  readonly id: string | null;
  /** Set on the first piece of a call. */
  readonly name: string | null;
  /** A piece of JSON text. */
  readonly arguments: string;
}

export interface ChatUsage {
  readonly numPromptTokens: number;
  readonly numOutputTokens: number;
  /** Of the prompt's tokens, those that were not computed anew. */
  readonly numCachedTokens: number;
  /** Of the output's tokens, those spent on reasoning. */
  readonly numReasoningTokens: number;
}

/** One piece of a growing answer. */
export interface ChatDelta {
  readonly content: string;
  readonly reasoning: string;
  readonly toolCalls: readonly ToolCallDelta[];
  /** As chat completions have them, one per token; empty when they were not asked for. */
  readonly logprobs: readonly JsonObject[];
  /** Set once: `stop`, `length` or `tool_calls`. */
  readonly finishReason: string | null;
  /** The stop string or stop token id that ended it, beside the finish reason. */
  readonly stopReason: string | number | null;
  /** Set on the last delta. */
  readonly usage: ChatUsage | null;
}

/** A chat that was checked and can be started. */
export interface PreparedChat {
  readonly promptTokenIds: Int32Array;
  /**
   * Queues it; a refusal throws here, what happens later is met in the deltas.
   * @throws ApiError 400 for a grammar that can't be enforced, 429, 503.
   */
  start(caller: Caller): Promise<AsyncIterable<ChatDelta>>;
}

/**
 * @param body a chat completion's; `stream`, `stream_options` and `n` are set here
 * @throws ApiError 4xx in the words of the chat API when the body can't be served.
 */
export async function prepareChat(
  context: ServerContext,
  body: JsonObject,
  caller: Caller,
): Promise<PreparedChat> {
  const streamed = { ...body, n: 1, stream: true, stream_options: { include_usage: true } };
  const completion = await prepareChatCompletion(context, streamed, caller);
  return {
    promptTokenIds: completion.request.prompts[0]?.promptTokenIds ?? new Int32Array(),
    async start(starter) {
      const deltas = await startGeneration(context, completion.request, starter);
      const shape = completion.chunks();
      return (async function* chunks() {
        for await (const delta of deltas) yield* shape.push(delta).map(toChatDelta);
        yield* shape.end().map(toChatDelta);
      })();
    },
  };
}

function toChatDelta(json: JsonObject): ChatDelta {
  const { choices, usage } = chatChunk.parse(json);
  const [choice] = choices;
  return {
    content: choice?.delta.content ?? '',
    reasoning: choice?.delta.reasoning_content ?? '',
    toolCalls: (choice?.delta.tool_calls ?? []).map((call) => ({
      index: call.index,
      id: call.id ?? null,
      name: call.function.name ?? null,
      arguments: call.function.arguments ?? '',
    })),
    logprobs: choice?.logprobs?.content ?? [],
    finishReason: choice?.finish_reason ?? null,
    stopReason: choice?.stop_reason ?? null,
    usage:
      usage === null || usage === undefined
        ? null
        : {
            numPromptTokens: usage.prompt_tokens,
            numOutputTokens: usage.completion_tokens,
            numCachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
            numReasoningTokens: usage.completion_tokens_details?.reasoning_tokens ?? 0,
          },
  };
}
