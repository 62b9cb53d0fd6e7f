/** The answers of /v1/chat/completions, streamed and in one piece. */
import {
  parseChatOutput,
  type ChatOutputOptions,
  type ParsedToolCall,
} from '../../front/chat/chat-output.ts';
import type { FanOutRequest } from '../../front/generation/fan-out.ts';
import type { GenerationDelta } from '../../front/generation/generation.ts';
import type { TokenLogprob } from '../../front/generation/token-logprob.ts';
import {
  chunkUsage,
  type AnswerHead,
  type AnswerOptions,
  type ChunkShape,
  type GatheredAnswer,
  type JsonObject,
} from './answer.ts';
import { ChatDeltas } from './chat-deltas.ts';
import { pickBest } from './choices.ts';
import type { LogprobsFormat } from './logprobs.ts';
import { UsageCounter } from './usage.ts';

/** What one request's answers look like. */
export interface ChatForm {
  readonly head: AnswerHead;
  readonly options: AnswerOptions;
  readonly request: FanOutRequest;
  readonly n: number;
  /** For one choice: what its text may hold besides content; null for nothing. */
  readonly createOutput: () => ChatOutputOptions | null;
  /** What every choice begins with; often nothing. */
  readonly echo: string;
  /** Likeliest tokens to report beside each; null reports no log-probabilities. */
  readonly numTop: number | null;
  /** The same for vLLM's `prompt_logprobs`. */
  readonly numPromptTop: number | null;
  readonly format: LogprobsFormat;
}

export class ChatCompletionChunks implements ChunkShape {
  readonly #form: ChatForm;
  readonly #usage: UsageCounter;
  /** By choice, of those that have begun. */
  readonly #begun = new Map<number, ChatDeltas>();

  constructor(form: ChatForm) {
    this.#form = form;
    this.#usage = new UsageCounter(form.request);
  }

  push(delta: GenerationDelta): JsonObject[] {
    const { returnTokenIds } = this.#form.options;
    const { choice: index = 0, text, tokenIds, finishReason, stopReason } = delta;
    const chunks: JsonObject[] = [];
    // Before its tokens are counted: the opening has none.
    if (!this.#begun.has(index)) chunks.push(...this.#begin(index));
    const output = this.#begun.get(index);
    this.#usage.add(delta);
    const logprobs = outputLogprobs(this.#form, delta.logprobs);
    const hasTokensToShow = returnTokenIds || logprobs !== null;
    const pieces = output?.push(text, finishReason !== null) ?? [];
    if (pieces.length === 0 && hasTokensToShow && tokenIds.length > 0) pieces.push({ content: '' });
    for (const [position, piece] of pieces.entries()) {
      const isFirst = position === 0;
      chunks.push(
        this.#chunk({
          index,
          delta: piece,
          logprobs: isFirst ? logprobs : null,
          finish_reason: null,
          ...(returnTokenIds ? { token_ids: isFirst ? tokenIds : [] } : {}),
        }),
      );
    }
    if (finishReason !== null) {
      chunks.push(
        this.#chunk({
          index,
          delta: {},
          logprobs: null,
          finish_reason: output?.finishReason(finishReason) ?? finishReason,
          stop_reason: stopReason,
          ...(returnTokenIds ? { token_ids: [] } : {}),
        }),
      );
    }
    return chunks;
  }

  end(): JsonObject[] {
    if (!this.#form.options.includeUsage) return [];
    return [{ ...this.#envelope(), choices: [], usage: this.#usage.usage }];
  }

  /** The prompt's ids come once, with the first chunk of all. */
  #begin(index: number): JsonObject[] {
    const { echo, options } = this.#form;
    const isFirst = this.#begun.size === 0;
    this.#begun.set(index, new ChatDeltas(this.#form.createOutput()));
    const opening = this.#piece(index, { role: 'assistant', content: '' });
    const promptIds =
      isFirst && options.returnTokenIds ? { prompt_token_ids: promptTokenIds(this.#form) } : {};
    const echoes = echo === '' ? [] : [this.#piece(index, { content: echo })];
    return [{ ...opening, ...promptIds }, ...echoes];
  }

  #piece(index: number, delta: JsonObject): JsonObject {
    return this.#chunk({ index, delta, logprobs: null, finish_reason: null });
  }

  #chunk(choice: JsonObject): JsonObject {
    const usage = chunkUsage(this.#form.options, this.#usage);
    return { ...this.#envelope(), choices: [choice], ...usage };
  }

  #envelope(): JsonObject {
    const { id, created, model } = this.#form.head;
    return { id, object: 'chat.completion.chunk', created, model };
  }
}

/** @param answers one for each sequence of the request, in order */
export function chatCompletion(form: ChatForm, answers: readonly GatheredAnswer[]): JsonObject {
  const { format, head, n, numPromptTop, options, request } = form;
  const usage = new UsageCounter(request);
  for (const [choice, answer] of answers.entries()) usage.add({ ...answer, choice });
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    choices: pickBest(answers, request.numChoices, n).map((answer, index) =>
      choiceOf(form, answer, index),
    ),
    usage: usage.usage,
    ...(numPromptTop === null
      ? {}
      : { prompt_logprobs: format.prompt(answers[0]?.promptLogprobs ?? [], numPromptTop) }),
    ...(options.returnTokenIds ? { prompt_token_ids: promptTokenIds(form) } : {}),
  };
}

function choiceOf(form: ChatForm, answer: GatheredAnswer, index: number): JsonObject {
  return {
    index,
    ...message(form, answer),
    logprobs: outputLogprobs(form, answer.logprobs),
    stop_reason: answer.stopReason,
    ...(form.options.returnTokenIds ? { token_ids: answer.tokenIds } : {}),
  };
}

function message({ createOutput, echo }: ChatForm, { finishReason, text }: GatheredAnswer) {
  const output = createOutput();
  if (output === null) {
    const plain = { role: 'assistant', content: echo + text, refusal: null };
    return { message: plain, finish_reason: finishReason };
  }
  const { content, reasoning, toolCalls } = parseChatOutput(text, output);
  const whole = echo + content;
  const hasCalls = toolCalls.length > 0;
  return {
    message: {
      role: 'assistant',
      content: whole === '' && hasCalls ? null : whole,
      refusal: null,
      ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
      ...(hasCalls ? { tool_calls: toolCalls.map(toolCall) } : {}),
    },
    finish_reason: hasCalls && finishReason === 'stop' ? 'tool_calls' : finishReason,
  };
}

function toolCall({ id, name, arguments: text }: ParsedToolCall): JsonObject {
  return { id, type: 'function', function: { name, arguments: text } };
}

/**
 * As OpenAI has it, the tokens are those of the content and no others. Who asks for `token_ids` gets
 * an entry for each of those instead, the token that ended the answer included.
 */
function outputLogprobs(form: ChatForm, entries: readonly TokenLogprob[] = []): JsonObject | null {
  if (form.numTop === null) return null;
  const shown = entries.filter(({ isShown }) => isShown || form.options.returnTokenIds);
  return form.format.chat(shown, form.numTop);
}

function promptTokenIds({ request }: ChatForm): number[] {
  return [...(request.prompts[0]?.promptTokenIds ?? [])];
}
