/** The responses of /v1/chat/completions, streamed and in one piece. */
import { toldTokenIds } from '../../front/generation/prompt-image.ts';
import type { AnsweredToolCall, AssistantMessage } from '../../front/chat/assistant-message.ts';
import { type ChatDelta, isStreamed, type StreamedPart } from '../../front/chat/chat-delta.ts';
import { textOfArguments } from '../../front/chat/custom-tools.ts';
import type { FanOutRequest } from '../../front/generation/fan-out.ts';
import type { TokenLogprob } from '../../front/generation/token-logprob.ts';
import { UsageCounter } from '../../front/generation/token-usage.ts';
import type { LogprobsFormat } from '../generation/logprobs-format.ts';
import { jsonWriter, type Sendable, type WrittenJson } from '../http/written-json.ts';
import type { JsonObject } from '../json-object.ts';
import { pickBest } from './choices.ts';
import { CustomCalls, type ToldPart } from './custom-calls.ts';
import type { Gathered, GatheredChoice } from '../generation/gather.ts';
import { chunkUsage, type ResponseHead, type ResponseOptions } from './response.ts';
import { toUsage, type Usage } from './usage.ts';

/** Form of one request's responses. */
export interface ChatResponseFormat {
  readonly head: ResponseHead;
  readonly options: ResponseOptions;
  readonly request: FanOutRequest;
  readonly n: number;
  /** Whether answers tell what the model thinks. */
  readonly hasReasoning: boolean;
  /** Names of the tools that are called with a text. */
  readonly customTools: ReadonlySet<string>;
  /** Text that every choice begins with; usually empty. */
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
  readonly #customCalls: CustomCalls;
  /** Whether chunks tell nothing of tokens but their text, as most do. */
  readonly #isPlain: boolean;
  readonly #writeContent: (index: number, text: string) => WrittenJson;
  readonly #writeReasoning: (index: number, text: string) => WrittenJson;
  #hasBegun = false;

  constructor(format: ChatResponseFormat) {
    this.#format = format;
    this.#usage = new UsageCounter(format.request);
    this.#customCalls = new CustomCalls(format.customTools);
    const { returnTokenIds, continuousUsage } = format.options;
    this.#isPlain = !returnTokenIds && !continuousUsage && format.numTop === null;
    this.#writeContent = jsonWriter((index, text) =>
      this.#piece(index, toDelta({ type: 'content', text })),
    );
    this.#writeReasoning = jsonWriter((index, text) =>
      this.#piece(index, toDelta({ type: 'reasoning', text })),
    );
  }

  /** The chunks that `delta` becomes, in order; none when it has nothing to show. */
  push(delta: ChatDelta): Sendable[] {
    const { choice: index, parts, finishReason, stopReason } = delta;
    // Before its tokens are counted: the opening has none.
    const chunks: Sendable[] = delta.isFirst ? this.#begin(index) : [];
    this.#usage.add(delta);
    const { hasReasoning } = this.#format;
    const streamed = parts.filter(
      (part): part is StreamedPart =>
        isStreamed(part) && (hasReasoning || part.type !== 'reasoning'),
    );
    const told = this.#customCalls.push(index, streamed, finishReason !== null);
    if (this.#isPlain) for (const part of told) chunks.push(this.#write(index, part));
    else chunks.push(...this.#detailed(delta, told));
    if (finishReason !== null) {
      chunks.push(
        this.#chunk({
          index,
          delta: {},
          logprobs: null,
          finish_reason: finishReason,
          stop_reason: stopReason,
          token_ids: this.#format.options.returnTokenIds ? [] : undefined,
        }),
      );
    }
    return chunks;
  }

  #write(index: number, part: ToldPart): Sendable {
    if (part.type === 'content') return this.#writeContent(index, part.text);
    if (part.type === 'reasoning') return this.#writeReasoning(index, part.text);
    return this.#piece(index, toDelta(part));
  }

  /** With what is asked for of the tokens, which comes with the first chunk. */
  #detailed({ choice: index, ...delta }: ChatDelta, parts: readonly ToldPart[]): JsonObject[] {
    const { returnTokenIds } = this.#format.options;
    const tokenIds = returnTokenIds ? delta.tokenIds : undefined;
    const logprobs = outputLogprobs(this.#format, delta.logprobs);
    const hasTokensToShow = returnTokenIds || logprobs !== null;
    const pieces = parts.map(toDelta);
    if (pieces.length === 0 && hasTokensToShow && delta.tokenIds.length > 0) {
      pieces.push({ content: '' });
    }
    return pieces.map((piece, at) =>
      this.#chunk({
        index,
        delta: piece,
        logprobs: at === 0 ? logprobs : null,
        finish_reason: null,
        token_ids: at === 0 ? tokenIds : tokenIds && [],
      }),
    );
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
    const { id, created, model, service_tier } = this.#format.head;
    return { id, object: 'chat.completion.chunk', created, model, service_tier, choices, usage };
  }
}

function toDelta(part: ToldPart): JsonObject {
  switch (part.type) {
    case 'content':
      return { content: part.text };
    case 'reasoning':
      return toReasoning(part.text);
    case 'call': {
      const { index, id, name } = part;
      return { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] };
    }
    case 'arguments':
      return { tool_calls: [{ index: part.index, function: { arguments: part.text } }] };
    case 'custom': {
      const { index, id, name } = part;
      return { tool_calls: [{ index, id, type: 'custom', custom: { name, input: '' } }] };
    }
    case 'input':
      return { tool_calls: [{ index: part.index, custom: { input: part.text } }] };
  }
}

/** By the field's older name, and the one that vLLM has now. */
function toReasoning(text: string): JsonObject {
  return { reasoning_content: text, reasoning: text };
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
    service_tier: head.service_tier,
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
    message: toMessage(format, choice.content),
    finish_reason: choice.finishReason,
    logprobs: outputLogprobs(format, choice.logprobs),
    stop_reason: choice.stopReason,
    ...(format.options.returnTokenIds ? { token_ids: choice.tokenIds } : {}),
  };
}

function toMessage(
  { customTools, echo, hasReasoning }: ChatResponseFormat,
  { content, reasoning, toolCalls }: AssistantMessage,
): JsonObject {
  const whole = echo + content;
  const hasCalls = toolCalls.length > 0;
  return {
    role: 'assistant',
    content: whole === '' && hasCalls ? null : whole,
    refusal: null,
    ...(reasoning === '' || !hasReasoning ? {} : toReasoning(reasoning)),
    ...(hasCalls ? { tool_calls: toolCalls.map((call) => toToolCall(call, customTools)) } : {}),
  };
}

function toToolCall(
  { id, name, arguments: text }: AnsweredToolCall,
  customTools: ReadonlySet<string>,
): JsonObject {
  if (customTools.has(name)) {
    return { id, type: 'custom', custom: { name, input: textOfArguments(text) } };
  }
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
  return [...toldTokenIds(request.prompts[0]?.promptTokenIds ?? new Int32Array())];
}
