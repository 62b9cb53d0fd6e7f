/** The responses of /v1/chat/completions, streamed and in one piece. */
import type { AnsweredToolCall, AssistantMessage } from '../../front/chat/assistant-message.ts';
import type { ChatDelta, StreamedPart } from '../../front/chat/chat-delta.ts';
import type { FanOutRequest } from '../../front/generation/fan-out.ts';
import type { TokenLogprob } from '../../front/generation/token-logprob.ts';
import { UsageCounter } from '../../front/generation/token-usage.ts';
import type { LogprobsFormat } from '../generation/logprobs-format.ts';
import type { JsonObject } from '../json-object.ts';
import { pickBest } from './choices.ts';
import type { Gathered, GatheredChoice } from '../generation/gather.ts';
import { chunkUsage, type ResponseHead, type ResponseOptions } from './response.ts';
import { toUsage, type Usage } from './usage.ts';

/** What one request's responses look like. */
export interface ChatResponseFormat {
  readonly head: ResponseHead;
  readonly options: ResponseOptions;
  readonly request: FanOutRequest;
  readonly n: number;
  /** What every choice begins with; often nothing. */
  readonly echo: string;
  /** Likeliest tokens to report beside each; null reports no log-probabilities. */
  readonly numTop: number | null;
  /** The same for vLLM's `prompt_logprobs`. */
  readonly numPromptTop: number | null;
  readonly logprobs: LogprobsFormat;
}

export class ChatCompletionChunks {
  readonly #format: ChatResponseFormat;
  readonly #usage: UsageCounter;
  #hasBegun = false;

  constructor(format: ChatResponseFormat) {
    this.#format = format;
    this.#usage = new UsageCounter(format.request);
  }

  /** The chunks that `delta` becomes, in order; none when it has nothing to show. */
  push(delta: ChatDelta): JsonObject[] {
    const { returnTokenIds } = this.#format.options;
    const { choice: index, tokenIds, finishReason, stopReason } = delta;
    // Before its tokens are counted: the opening has none.
    const chunks = delta.isFirst ? this.#begin(index) : [];
    this.#usage.add(delta);
    const logprobs = outputLogprobs(this.#format, delta.logprobs);
    const hasTokensToShow = returnTokenIds || logprobs !== null;
    const pieces: JsonObject[] = [];
    for (const part of delta.parts) {
      // What has been sent of a broken call can't be taken back.
      if (part.type !== 'broken') pieces.push(toDelta(part));
    }
    if (pieces.length === 0 && hasTokensToShow && tokenIds.length > 0) pieces.push({ content: '' });
    let isFirst = true;
    for (const piece of pieces) {
      chunks.push(
        this.#chunk({
          index,
          delta: piece,
          logprobs: isFirst ? logprobs : null,
          finish_reason: null,
          token_ids: returnTokenIds ? (isFirst ? tokenIds : []) : undefined,
        }),
      );
      isFirst = false;
    }
    if (finishReason !== null) {
      chunks.push(
        this.#chunk({
          index,
          delta: {},
          logprobs: null,
          finish_reason: finishReason,
          stop_reason: stopReason,
          token_ids: returnTokenIds ? [] : undefined,
        }),
      );
    }
    return chunks;
  }

  /** The chunks that follow the last delta of the last choice. */
  end(): JsonObject[] {
    if (!this.#format.options.includeUsage) return [];
    return [this.#envelope([], toUsage(this.#usage.usage))];
  }

  /** The prompt's ids come once, with the first chunk of all. */
  #begin(index: number): JsonObject[] {
    const { echo, options } = this.#format;
    const opening = this.#piece(index, { role: 'assistant', content: '' });
    const promptIds =
      !this.#hasBegun && options.returnTokenIds
        ? { prompt_token_ids: promptTokenIds(this.#format) }
        : {};
    this.#hasBegun = true;
    const echoes = echo === '' ? [] : [this.#piece(index, { content: echo })];
    return [{ ...opening, ...promptIds }, ...echoes];
  }

  #piece(index: number, delta: JsonObject): JsonObject {
    return this.#chunk({ index, delta, logprobs: null, finish_reason: null });
  }

  #chunk(choice: JsonObject): JsonObject {
    return this.#envelope([choice], chunkUsage(this.#format.options, this.#usage));
  }

  /** Spreads nothing: it is made for each token. */
  #envelope(choices: readonly JsonObject[], usage: Usage | null | undefined): JsonObject {
    const { id, created, model } = this.#format.head;
    return { id, object: 'chat.completion.chunk', created, model, choices, usage };
  }
}

function toDelta(part: StreamedPart): JsonObject {
  switch (part.type) {
    case 'content':
      return { content: part.text };
    case 'reasoning':
      return { reasoning_content: part.text };
    case 'call': {
      const { index, id, name } = part;
      return { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] };
    }
    case 'arguments':
      return { tool_calls: [{ index: part.index, function: { arguments: part.text } }] };
  }
}

export function chatCompletion(
  format: ChatResponseFormat,
  { choices, usage }: Gathered<AssistantMessage>,
): JsonObject {
  const { head, logprobs, n, numPromptTop, options, request } = format;
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    choices: pickBest(choices, request.numChoices, n).map((choice, index) =>
      toChoice(format, choice, index),
    ),
    usage: toUsage(usage),
    ...(numPromptTop === null
      ? {}
      : { prompt_logprobs: logprobs.prompt(choices[0]?.promptLogprobs ?? [], numPromptTop) }),
    ...(options.returnTokenIds ? { prompt_token_ids: promptTokenIds(format) } : {}),
  };
}

function toChoice(
  format: ChatResponseFormat,
  choice: GatheredChoice<AssistantMessage>,
  index: number,
): JsonObject {
  return {
    index,
    message: toMessage(format.echo, choice.content),
    finish_reason: choice.finishReason,
    logprobs: outputLogprobs(format, choice.logprobs),
    stop_reason: choice.stopReason,
    ...(format.options.returnTokenIds ? { token_ids: choice.tokenIds } : {}),
  };
}

function toMessage(echo: string, { content, reasoning, toolCalls }: AssistantMessage): JsonObject {
  const whole = echo + content;
  const hasCalls = toolCalls.length > 0;
  return {
    role: 'assistant',
    content: whole === '' && hasCalls ? null : whole,
    refusal: null,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(hasCalls ? { tool_calls: toolCalls.map(toToolCall) } : {}),
  };
}

function toToolCall({ id, name, arguments: text }: AnsweredToolCall): JsonObject {
  return { id, type: 'function', function: { name, arguments: text } };
}

/**
 * As OpenAI has it, the tokens are those of the content and no others. Who asks for `token_ids` gets
 * an entry for each of those instead, the token that ended the answer included.
 */
function outputLogprobs(
  { logprobs, numTop, options }: ChatResponseFormat,
  entries: readonly TokenLogprob[] = [],
): JsonObject | null {
  if (numTop === null) return null;
  const shown = entries.filter(({ isShown }) => isShown || options.returnTokenIds);
  return { content: logprobs.chat(shown, numTop), refusal: null };
}

function promptTokenIds({ request }: ChatResponseFormat): number[] {
  return [...(request.prompts[0]?.promptTokenIds ?? [])];
}
