/** From a body of /v1/messages to the body of a chat completion. */
import { ApiError, badRequest } from '../errors.ts';
import type { JsonObject } from '../openai/answer.ts';
import {
  anthropicMessage,
  blocks,
  type AnthropicMessage,
  type Block,
  type CountTokensBody,
  type MessagesBody,
} from '../schemas/anthropic.ts';
import { requireFewMessages } from '../schemas/messages.ts';
import { parseWith } from '../schemas/parse.ts';

/** What the chat API calls a field, and what this one does. */
const FIELD_NAMES: Readonly<Record<string, string>> = {
  max_completion_tokens: 'max_tokens',
  stop: 'stop_sequences',
};

/** What shapes the prompt. */
export function toChatPrompt(body: CountTokensBody): JsonObject {
  const messages = parseMessages(body['messages']);
  const system = textOf(body.system ?? '');
  // An answer that was begun is gone on with.
  const isBegun = messages.at(-1)?.role === 'assistant';
  return {
    model: body.model,
    messages: [
      ...(system === '' ? [] : [{ role: 'system', content: system }]),
      ...messages.flatMap(toChatMessages),
    ],
    ...(isBegun ? { continue_final_message: true, add_generation_prompt: false } : {}),
    ...toToolFields(body),
    ...(body.thinking === null || body.thinking === undefined
      ? {}
      : { chat_template_kwargs: { enable_thinking: body.thinking.type !== 'disabled' } }),
  };
}

export function toChatBody(body: MessagesBody): JsonObject {
  return {
    ...toChatPrompt(body),
    max_completion_tokens: body.max_tokens,
    stop: body.stop_sequences,
    temperature: body.temperature,
    top_p: body.top_p,
    top_k: body.top_k,
    user: body.metadata?.user_id,
  };
}

/** An error of the chat API in this API's words. */
export function fromChatError(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.param === null) return error;
  const name = FIELD_NAMES[error.param];
  if (name === undefined) return error;
  const message = error.message.replaceAll(`\`${error.param}\``, `\`${name}\``);
  const { code, headers } = error;
  return new ApiError(error.status, error.type, message, { param: name, code, headers });
}

/** One by one, so that the first bad item of a long list ends it. */
function parseMessages(value: unknown): AnthropicMessage[] {
  if (value === undefined || value === null) {
    throw badRequest('`messages` is required.', 'messages', 'missing_required_parameter');
  }
  if (!Array.isArray(value) || value.length === 0) {
    throw badRequest('`messages`: expected a list of messages.', 'messages', 'invalid_value');
  }
  requireFewMessages(value, 'messages');
  return value.map((item: unknown, index) => {
    const path = ['messages', index];
    const content: unknown = Object(item).content;
    // On their own first: of a union zod can't tell which part of it is wrong.
    if (Array.isArray(content)) parseWith(blocks, content, [...path, 'content']);
    return parseWith(anthropicMessage, item, path);
  });
}

/** A user's turn may hold results of tools, which are messages of their own in a chat. */
function toChatMessages({ role, content }: AnthropicMessage): JsonObject[] {
  if (typeof content === 'string') return [{ role, content }];
  const text = content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
  if (role === 'user') {
    const results = content.flatMap(toToolMessage);
    return text === '' && results.length > 0 ? results : [...results, { role, content: text }];
  }
  const calls = content.flatMap(toToolCall);
  const thoughts = content.flatMap((block) => (block.type === 'thinking' ? [block.thinking] : []));
  return [
    {
      role,
      content: text,
      ...(thoughts.length > 0 ? { reasoning_content: thoughts.join('\n') } : {}),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    },
  ];
}

function toToolMessage(block: Block): JsonObject[] {
  if (block.type !== 'tool_result') return [];
  const content = textOf(block.content ?? '');
  return [{ role: 'tool', tool_call_id: block.tool_use_id, content }];
}

function toToolCall(block: Block): JsonObject[] {
  if (block.type !== 'tool_use') return [];
  const call = { name: block.name, arguments: JSON.stringify(block.input) };
  return [{ id: block.id, type: 'function', function: call }];
}

function toToolFields({ tools, tool_choice: choice }: CountTokensBody): JsonObject {
  if (tools === null || tools === undefined || tools.length === 0) return {};
  return {
    tools: tools.map(({ name, description, input_schema: parameters }) => ({
      type: 'function',
      function: { name, ...(typeof description === 'string' ? { description } : {}), parameters },
    })),
    tool_choice: toChatChoice(choice),
    ...(choice?.['disable_parallel_tool_use'] === true ? { parallel_tool_calls: false } : {}),
  };
}

function toChatChoice(choice: CountTokensBody['tool_choice']): unknown {
  switch (choice?.type) {
    case 'any':
      return 'required';
    case 'none':
      return 'none';
    case 'tool':
      return { type: 'function', function: { name: choice.name } };
    case 'auto':
    case undefined:
      return 'auto';
  }
}

function textOf(value: string | readonly { readonly text: string }[]): string {
  return typeof value === 'string' ? value : value.map(({ text }) => text).join('\n');
}
