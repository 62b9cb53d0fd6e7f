/** /v1/chat/completions: from its body to a prepared generation, and the shape of its answers. */
import type { GenerationDelta } from '../../front/generation.ts';
import type { ServerContext } from '../context.ts';
import { toGenerationRequest } from '../parameters.ts';
import { chatCompletionBody } from '../schemas/bodies.ts';
import { parseMessages } from '../schemas/messages.ts';
import { parseWith } from '../schemas/parse.ts';
import { refuseUnsupportedInChat } from '../schemas/unsupported.ts';
import {
  answerOptions,
  chunkUsage,
  createHead,
  usage,
  type AnswerHead,
  type AnswerOptions,
  type ChunkShape,
  type GatheredAnswer,
  type JsonObject,
  type PreparedCompletion,
} from './answer.ts';
import { encodeChat } from './chat-prompt.ts';
import { requireServedModel } from './models.ts';

/** @throws ApiError 4xx when the body can't be served. */
export function prepareChatCompletion(context: ServerContext, json: unknown): PreparedCompletion {
  const body = parseWith(chatCompletionBody, json);
  requireServedModel(context.model, body.model);
  refuseUnsupportedInChat(body);
  const promptTokenIds = encodeChat(context, parseMessages(body['messages']), body);
  const usesNewName = typeof body.max_completion_tokens === 'number';
  const request = toGenerationRequest(
    body,
    promptTokenIds,
    {
      requested: body.max_completion_tokens ?? body.max_tokens ?? null,
      param: usesNewName ? 'max_completion_tokens' : 'max_tokens',
      promptParam: 'messages',
      fallback: null,
    },
    context.model,
  );
  const head = createHead('chatcmpl', context.model.id);
  const options = answerOptions(body);
  return {
    request,
    stream: body.stream ?? false,
    chunks: () => new ChatCompletionChunks(head, options, promptTokenIds),
    whole: (answer) => chatCompletion(head, options, promptTokenIds, answer),
  };
}

class ChatCompletionChunks implements ChunkShape {
  readonly #head: AnswerHead;
  readonly #options: AnswerOptions;
  readonly #promptTokenIds: Int32Array;
  #hasBegun = false;
  #numTokens = 0;

  constructor(head: AnswerHead, options: AnswerOptions, promptTokenIds: Int32Array) {
    this.#head = head;
    this.#options = options;
    this.#promptTokenIds = promptTokenIds;
  }

  push(delta: GenerationDelta): JsonObject[] {
    const { text, tokenIds, finishReason, stopReason } = delta;
    const chunks: JsonObject[] = [];
    if (!this.#hasBegun) chunks.push(this.#opening());
    this.#numTokens += tokenIds.length;
    const { returnTokenIds } = this.#options;
    const hasTokensToShow = returnTokenIds && tokenIds.length > 0 && finishReason === null;
    const hasContent = text !== '' || hasTokensToShow;
    if (hasContent) {
      chunks.push(
        this.#chunk({
          index: 0,
          delta: { content: text },
          logprobs: null,
          finish_reason: null,
          ...(returnTokenIds ? { token_ids: tokenIds } : {}),
        }),
      );
    }
    if (finishReason !== null) {
      chunks.push(
        this.#chunk({
          index: 0,
          delta: {},
          logprobs: null,
          finish_reason: finishReason,
          stop_reason: stopReason,
          ...(returnTokenIds ? { token_ids: hasContent ? [] : tokenIds } : {}),
        }),
      );
    }
    return chunks;
  }

  end(): JsonObject[] {
    if (!this.#options.includeUsage) return [];
    const total = usage(this.#promptTokenIds.length, this.#numTokens);
    return [{ ...this.#envelope(), choices: [], usage: total }];
  }

  #opening(): JsonObject {
    this.#hasBegun = true;
    const chunk = this.#chunk({
      index: 0,
      delta: { role: 'assistant', content: '' },
      logprobs: null,
      finish_reason: null,
    });
    if (!this.#options.returnTokenIds) return chunk;
    return { ...chunk, prompt_token_ids: [...this.#promptTokenIds] };
  }

  #chunk(choice: JsonObject): JsonObject {
    return {
      ...this.#envelope(),
      choices: [choice],
      ...chunkUsage(this.#options, this.#promptTokenIds.length, this.#numTokens),
    };
  }

  #envelope(): JsonObject {
    const { id, created, model } = this.#head;
    return { id, object: 'chat.completion.chunk', created, model };
  }
}

function chatCompletion(
  head: AnswerHead,
  { returnTokenIds }: AnswerOptions,
  promptTokenIds: Int32Array,
  answer: GatheredAnswer,
): JsonObject {
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: answer.text, refusal: null },
        logprobs: null,
        finish_reason: answer.finishReason,
        stop_reason: answer.stopReason,
        ...(returnTokenIds ? { token_ids: answer.tokenIds } : {}),
      },
    ],
    usage: usage(promptTokenIds.length, answer.tokenIds.length),
    ...(returnTokenIds ? { prompt_token_ids: [...promptTokenIds] } : {}),
  };
}
