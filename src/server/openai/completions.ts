/** /v1/completions: from its body to a prepared generation, and the shape of its answers. */
import type { GenerationDelta } from '../../front/generation.ts';
import type { ServerContext } from '../context.ts';
import { requireInVocabulary, toGenerationRequest } from '../parameters.ts';
import { completionBody } from '../schemas/bodies.ts';
import { parseWith } from '../schemas/parse.ts';
import { parsePrompt } from '../schemas/prompt.ts';
import { refuseUnsupportedInCompletion } from '../schemas/unsupported.ts';
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
import { requireServedModel } from './models.ts';

/** OpenAI's default for this API. */
const DEFAULT_MAX_TOKENS = 16;

/** @throws ApiError 4xx when the body can't be served. */
export function prepareCompletion(context: ServerContext, json: unknown): PreparedCompletion {
  const body = parseWith(completionBody, json);
  requireServedModel(context.model, body.model);
  refuseUnsupportedInCompletion(body);
  const promptTokenIds = encodePrompt(context, body['prompt'], body.add_special_tokens ?? true);
  const request = toGenerationRequest(
    body,
    promptTokenIds,
    {
      requested: body.max_tokens ?? null,
      param: 'max_tokens',
      promptParam: 'prompt',
      fallback: DEFAULT_MAX_TOKENS,
    },
    context.model,
  );
  const head = createHead('cmpl', context.model.id);
  const options = answerOptions(body);
  return {
    request,
    stream: body.stream ?? false,
    chunks: () => new CompletionChunks(head, options, promptTokenIds),
    whole: (answer) => completion(head, options, promptTokenIds, answer),
  };
}

function encodePrompt(
  context: ServerContext,
  value: unknown,
  addSpecialTokens: boolean,
): Int32Array {
  const prompt = parsePrompt(value);
  if ('tokenIds' in prompt) {
    requireInVocabulary(prompt.tokenIds, 'prompt', context.model.vocabSize);
    return Int32Array.from(prompt.tokenIds);
  }
  return context.tokenizer.encode(prompt.text, { addSpecialTokens });
}

class CompletionChunks implements ChunkShape {
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
    this.#numTokens += tokenIds.length;
    const { returnTokenIds } = this.#options;
    const hasTokensToShow = returnTokenIds && tokenIds.length > 0 && finishReason === null;
    const hasContent = text !== '' || hasTokensToShow;
    const chunks: JsonObject[] = [];
    if (hasContent) {
      chunks.push(
        this.#chunk({
          index: 0,
          text,
          logprobs: null,
          finish_reason: null,
          ...this.#tokenIdFields(tokenIds),
        }),
      );
    }
    if (finishReason !== null) {
      chunks.push(
        this.#chunk({
          index: 0,
          text: '',
          logprobs: null,
          finish_reason: finishReason,
          stop_reason: stopReason,
          ...this.#tokenIdFields(hasContent ? [] : tokenIds),
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

  /** The prompt's ids come once, with the first chunk. */
  #tokenIdFields(tokenIds: readonly number[]): JsonObject {
    if (!this.#options.returnTokenIds) return {};
    if (this.#hasBegun) return { token_ids: tokenIds };
    this.#hasBegun = true;
    return { prompt_token_ids: [...this.#promptTokenIds], token_ids: tokenIds };
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
    return { id, object: 'text_completion', created, model };
  }
}

function completion(
  head: AnswerHead,
  { returnTokenIds }: AnswerOptions,
  promptTokenIds: Int32Array,
  answer: GatheredAnswer,
): JsonObject {
  return {
    id: head.id,
    object: 'text_completion',
    created: head.created,
    model: head.model,
    choices: [
      {
        index: 0,
        text: answer.text,
        logprobs: null,
        finish_reason: answer.finishReason,
        stop_reason: answer.stopReason,
        ...(returnTokenIds
          ? { prompt_token_ids: [...promptTokenIds], token_ids: answer.tokenIds }
          : {}),
      },
    ],
    usage: usage(promptTokenIds.length, answer.tokenIds.length),
  };
}
