/** /v1/chat/completions: from its body to a prepared generation. */
import type { Caller } from '../../front/caller.ts';
import type { ChatMessage } from '../../front/chat/chat-message.ts';
import type { ServerContext } from '../context.ts';
import { badRequest } from '../errors.ts';
import { toGenerationRequest } from '../generation/parameters.ts';
import { maxPromptTokens } from '../generation/prompt-length.ts';
import { chatCompletionBody } from '../schemas/bodies.ts';
import { parseMessages } from '../schemas/messages.ts';
import { parseWith } from '../schemas/parse.ts';
import { refuseUnsupportedInChat } from '../schemas/unsupported.ts';
import { answerOptions, createHead, type PreparedCompletion } from './answer.ts';
import { ChatCompletionChunks, chatCompletion, type ChatForm } from './chat-form.ts';
import { chatOutputForm } from './chat-output.ts';
import { encodeChat } from './chat-prompt.ts';
import { toFanOut } from './choices.ts';
import { LogprobsFormat } from './logprobs.ts';
import { requireServedModel } from './models.ts';
import { promptLogprobsOf } from './prompt-logprobs.ts';

/** @throws ApiError 4xx when the body can't be served. */
export async function prepareChatCompletion(
  context: ServerContext,
  json: unknown,
  caller: Caller,
): Promise<PreparedCompletion> {
  const body = parseWith(chatCompletionBody, json);
  requireServedModel(context.model, body.model);
  refuseUnsupportedInChat(body);
  const messages = parseMessages(body['messages']);
  const usesNewName = typeof body.max_completion_tokens === 'number';
  const limit = {
    requested: body.max_completion_tokens ?? body.max_tokens ?? null,
    param: usesNewName ? 'max_completion_tokens' : 'max_tokens',
    promptParam: 'messages',
    fallback: null,
  };
  const maxTokens = maxPromptTokens(body, context.model);
  const prompt = await encodeChat(context, messages, body, maxTokens, caller);
  const output = chatOutputForm(context, body, prompt.text);
  const numTop = topLogprobsOf(body);
  const plain = toGenerationRequest(body, prompt.tokenIds, limit, context.model);
  const generation = {
    ...plain,
    skipSpecialTokens: plain.skipSpecialTokens && !output.showsSpecialTokens,
    logprobs: numTop,
    promptLogprobs: promptLogprobsOf(body, null),
    badWords: await context.prompts.encodeBadWords(body.bad_words ?? [], caller),
  };
  const fanOut = toFanOut([generation], body, context.config);
  const { grammar } = output;
  const request = grammar === undefined ? fanOut : { ...fanOut, grammar };
  const form: ChatForm = {
    head: createHead('chatcmpl', context.model.id),
    options: answerOptions(body),
    request,
    n: body.n ?? 1,
    createOutput: output.createOptions,
    echo: body.echo === true ? echoOf(messages) : '',
    numTop,
    numPromptTop: generation.promptLogprobs,
    format: new LogprobsFormat(context.tokenizer, body.return_tokens_as_token_ids ?? false),
  };
  return {
    request,
    stream: body.stream ?? false,
    chunks: () => new ChatCompletionChunks(form),
    whole: (answers) => chatCompletion(form, answers),
  };
}

/** Null when log-probabilities were not asked for. */
function topLogprobsOf(body: {
  readonly logprobs?: boolean | null | undefined;
  readonly top_logprobs?: number | null | undefined;
}): number | null {
  const top = body.top_logprobs ?? 0;
  if (body.logprobs === true) return top;
  if (top === 0) return null;
  throw badRequest('`top_logprobs` needs `logprobs` to be true.', 'top_logprobs', 'invalid_value');
}

/** The last message's text, if it is the assistant's: the answer goes on with it. */
function echoOf(messages: readonly ChatMessage[]): string {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return '';
  if (typeof last.content === 'string') return last.content;
  return (last.content ?? []).map(({ text = '' }) => text).join('\n');
}
