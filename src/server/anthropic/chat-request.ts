/** From a body of /v1/messages to a chat. */
import type { ChatMessage, ToolCall } from '../../front/chat/chat-message.ts';
import {
  requireFewMessages,
  type ChatRequest,
  type ChatTool,
  type ToolChoice,
} from '../../front/chat/chat-request.ts';
import type { ServedModel } from '../context.ts';
import { badRequest } from '../errors.ts';
import { toSettings } from '../generation/parameters.ts';
import {
  anthropicMessage,
  blocks,
  type AnthropicMessage,
  type Block,
  type CountTokensBody,
  type MessagesBody,
} from '../schemas/anthropic.ts';
import { parseWith } from '../schemas/parse.ts';

/**
 * @param body to count tokens, what shapes the prompt is enough
 * @throws ApiError 400 when the body can't be served.
 */
export function toChatRequest(
  body: CountTokensBody & Partial<MessagesBody>,
  model: ServedModel,
): ChatRequest {
  const messages = parseMessages(body['messages']);
  // An answer that was begun is gone on with.
  const isBegun = messages.at(-1)?.role === 'assistant';
  const { temperature, top_p, top_k, stop_sequences: stop, metadata } = body;
  const tools = body.tools ?? [];
  return {
    messages: [...toSystemMessage(body), ...messages.flatMap(toChatMessages)],
    tools: tools.map(toTool),
    toolChoice: tools.length === 0 ? 'none' : toToolChoice(body.tool_choice),
    parallelToolCalls: body.tool_choice?.['disable_parallel_tool_use'] !== true,
    addGenerationPrompt: !isBegun,
    continueFinalMessage: isBegun,
    templateVariables: body.thinking
      ? { enable_thinking: body.thinking.type !== 'disabled' }
      : null,
    responseFormat: null,
    settings: toSettings({ temperature, top_p, top_k, stop, user: metadata?.user_id }, model),
    badWords: [],
    numChoices: 1,
    limits: {
      maxTokens: body.max_tokens ?? null,
      defaultMaxTokens: null,
      truncatePromptTokens: null,
      fields: { prompt: 'messages', maxTokens: 'max_tokens' },
    },
  };
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

function toSystemMessage({ system }: CountTokensBody): ChatMessage[] {
  const content = textOf(system ?? '');
  return content === '' ? [] : [{ role: 'system', content }];
}

/** A user's turn may hold results of tools, which are messages of their own in a chat. */
function toChatMessages({ role, content }: AnthropicMessage): ChatMessage[] {
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

function toToolMessage(block: Block): ChatMessage[] {
  if (block.type !== 'tool_result') return [];
  const content = textOf(block.content ?? '');
  return [{ role: 'tool', tool_call_id: block.tool_use_id, content }];
}

function toToolCall(block: Block): ToolCall[] {
  if (block.type !== 'tool_use') return [];
  const call = { name: block.name, arguments: JSON.stringify(block.input) };
  return [{ id: block.id, type: 'function', function: call }];
}

/** As templates show it. */
function toTool(tool: NonNullable<CountTokensBody['tools']>[number]): ChatTool {
  const { name, description, input_schema: parameters } = tool;
  const described = typeof description === 'string' ? { description } : {};
  const definition = { name, ...described, parameters };
  return { type: 'function', function: definition };
}

function toToolChoice(choice: CountTokensBody['tool_choice']): ToolChoice {
  switch (choice?.type) {
    case 'any':
      return 'required';
    case 'none':
      return 'none';
    case 'tool':
      return { name: choice.name };
    case 'auto':
    case undefined:
      return 'auto';
  }
}

function textOf(value: string | readonly { readonly text: string }[]): string {
  return typeof value === 'string' ? value : value.map(({ text }) => text).join('\n');
}
