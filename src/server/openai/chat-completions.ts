/** /v1/chat/completions: from its body to a prepared generation. */
import type { Caller } from '../../front/caller.ts';
import { AssistantMessage } from '../../front/chat/assistant-message.ts';
import type { ChatMessage } from '../../front/templates/chat-message.ts';
import type { ChatPrompt, ChatRequest } from '../../front/chat/chat-request.ts';
import { prepareChat } from '../../front/chat/prepare-chat.ts';
import { thinkingOf } from '../../front/templates/thinking.ts';
import { mapStream } from '../../front/generation/map-stream.ts';
import type { PreparedAnswer } from '../answers/prepared-answer.ts';
import type { ServerContext } from '../context.ts';
import type { ServedText } from '../runtimes.ts';
import { LogprobsFormat } from '../generation/logprobs-format.ts';
import { thinkingBudgetOf, topLogprobsOf, toSettings } from '../generation/parameters.ts';
import { startChat } from '../generation/start-generation.ts';
import { grammarOf } from '../generation/structured-outputs.ts';
import {
  chatCompletionBody,
  type ChatCompletionBody,
  type ChatPromptFields,
} from '../schemas/bodies.ts';
import { parseMessages } from '../schemas/messages.ts';
import { parseWith } from '../schemas/parse.ts';
import { rejectUnsupportedInChat } from '../schemas/unsupported.ts';
import { ChatCompletionChunks, chatCompletion, type ChatResponseFormat } from './chat-response.ts';
import { customToolsOf, textGrammarsOf, toChatTools } from './chat-tools.ts';
import { beamsOf, requireSearchable } from './beams.ts';
import { requireChoices } from './choices.ts';
import { gather } from '../generation/gather.ts';
import { promptLogprobsOf } from './prompt-logprobs.ts';
import { createHead, responseOptions } from './response.ts';

/** @throws ApiError 4xx, InvalidRequestError when the body can't be served. */
export async function prepareChatCompletion(
  served: ServedText,
  json: unknown,
  caller: Caller,
  server: Pick<ServerContext, 'tiers'>,
): Promise<PreparedAnswer> {
  const body = parseWith(chatCompletionBody, json);
  rejectUnsupportedInChat(body);
  const numTop = topLogprobsOf(body);
  const request = toChatRequest(body, numTop, served);
  const chat = await prepareChat(served, request, caller);
  if (request.settings.beams !== undefined) requireSearchable(chat.generation);
  const format: ChatResponseFormat = {
    head: createHead('chatcmpl-', served, server, body, caller),
    options: responseOptions(body),
    request: chat.generation,
    n: body.n ?? 1,
    hasReasoning: body.include_reasoning ?? true,
    customTools: customToolsOf(body),
    echo: body.echo === true ? echoOf(request.messages) : '',
    numTop,
    numPromptTop: request.settings.promptLogprobs,
    logprobs: new LogprobsFormat(served.tokenizer, body.return_tokens_as_token_ids ?? false),
  };
  return {
    stream: body.stream ?? false,
    async chunks(starter) {
      const chunks = new ChatCompletionChunks(format);
      const deltas = await startChat(served, chat, starter);
      return mapStream(
        deltas,
        (delta) => chunks.push(delta),
        () => chunks.end(),
      );
    },
    async whole(starter) {
      const deltas = await startChat(served, chat, starter);
      const gathered = await gather(deltas, chat.generation, () => new AssistantMessage());
      return chatCompletion(format, gathered);
    },
  };
}

function toChatRequest(
  body: ChatCompletionBody,
  numTop: number | null,
  { model, admission }: ServedText,
): ChatRequest {
  const width = requireChoices(body, 1, admission.mostPerRequest);
  const settings = toSettings(body, model);
  const promptLogprobs = promptLogprobsOf(body, null);
  const beams = beamsOf(body, width, { ...settings, promptLogprobs }, model);
  const numChoices = beams?.numTexts ?? width;
  const usesNewName = typeof body.max_completion_tokens === 'number';
  return {
    ...toChatPrompt(body),
    textGrammars: textGrammarsOf(body),
    thinkingBudget: thinkingBudgetOf(body),
    parallelToolCalls: body.parallel_tool_calls ?? true,
    responseFormat: grammarOf(body),
    settings: {
      ...settings,
      ...(beams && { beams }),
      // The best of them are picked by log-probability.
      logprobs: numChoices > (body.n ?? 1) ? (numTop ?? 0) : numTop,
      promptLogprobs,
    },
    badWords: body.bad_words ?? [],
    numChoices,
    streamInterval: body.stream_interval ?? 1,
    limits: {
      maxTokens: body.max_completion_tokens ?? body.max_tokens ?? null,
      defaultMaxTokens: null,
      truncatePromptTokens: body.truncate_prompt_tokens ?? null,
      truncationSide: body.truncation_side ?? 'left',
      fields: {
        prompt: 'messages',
        maxTokens: usesNewName ? 'max_completion_tokens' : 'max_tokens',
      },
    },
  };
}

/** @throws ApiError 400 naming the message and field, such as `messages.0.role`. */
export function toChatPrompt(body: ChatPromptFields): ChatPrompt {
  const continueFinalMessage = body.continue_final_message ?? false;
  return {
    messages: parseMessages(body['messages']),
    ...toChatTools(body),
    addGenerationPrompt: body.add_generation_prompt ?? !continueFinalMessage,
    continueFinalMessage,
    templateVariables: body.chat_template_kwargs ?? null,
    thinking: thinkingOf(body.reasoning_effort),
  };
}

/** The last message's text, if it is the assistant's: the answer goes on with it. */
function echoOf(messages: readonly ChatMessage[]): string {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return '';
  if (typeof last.content === 'string') return last.content;
  return (last.content ?? []).flatMap(({ text }) => text ?? []).join('\n');
}
