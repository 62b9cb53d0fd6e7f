/** The `messages` of chat, checked one by one. */
import { z } from 'zod';
import { argumentsOfText } from '../../front/chat/custom-tools.ts';
import type { ChatMessage, ToolCall } from '../../front/templates/chat-message.ts';
import { requireFewMessages } from '../../front/chat/chat-request.ts';
import { LIMITS } from '../../limits.ts';
import { badRequest } from '../errors.ts';
import { boundedList } from './bounded-list.ts';
import { shortText } from './fields.ts';
import { imageOfUrlPart, imageUrlPart } from './images.ts';
import { parseWith } from './parse.ts';

const textPart = z.looseObject({ type: z.literal('text'), text: z.string() });

const contentPart = z.discriminatedUnion('type', [textPart, imageUrlPart], {
  error: 'only content parts of type `text` and `image_url` are supported',
});

const functionCall = z.looseObject({
  id: shortText.optional(),
  type: shortText.optional(),
  function: z.looseObject({ name: shortText, arguments: z.unknown().optional() }),
});

const customCall = z.looseObject({
  id: shortText.optional(),
  type: z.literal('custom'),
  custom: z.looseObject({ name: shortText, input: z.string() }),
});

const toolCall = z.union([customCall, functionCall], {
  error: 'expected a call with `function`, or with `custom` and its type',
});

export const message = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  tool_calls: boundedList(toolCall, LIMITS.messageParts).nullish(),
});

export const contentParts = boundedList(contentPart, LIMITS.messageParts);

/**
 * The conversation, with its shape checked. Long lists are checked by hand, so that the first bad
 * item ends the check.
 * @throws ApiError 400 naming the message and field, such as `messages.0.role`.
 */
export function parseMessages(value: unknown): ChatMessage[] {
  if (value === undefined || value === null) {
    throw badRequest('`messages` is required.', 'messages', 'missing_required_parameter');
  }
  if (!Array.isArray(value)) {
    throw badRequest('`messages`: expected a list of messages.', 'messages', 'invalid_value');
  }
  if (value.length === 0) {
    throw badRequest('`messages` must not be empty.', 'messages', 'invalid_value');
  }
  requireFewMessages(value, 'messages');
  return value.map((item: unknown, index) => parseMessage(item, ['messages', index]));
}

function parseMessage(value: unknown, path: readonly PropertyKey[]): ChatMessage {
  const { tool_calls: calls, ...parsed } = parseWith(message, value, path);
  const hasToolCalls = (calls ?? []).length > 0;
  return {
    ...parsed,
    ...(calls === undefined ? {} : { tool_calls: calls && calls.map(toFunctionCall) }),
    content: parseContent(parsed['content'], [...path, 'content'], hasToolCalls),
  };
}

/** @param mayBeAbsent for an assistant's message that only calls tools. */
function parseContent(
  content: unknown,
  path: readonly PropertyKey[],
  mayBeAbsent: boolean,
): ChatMessage['content'] {
  if (typeof content === 'string') return content;
  if (Array.isArray(content)) {
    return parseWith(contentParts, content, path).map((part, index) =>
      part.type === 'text' ? part : imageOfUrlPart(part, [...path, index].map(String).join('.')),
    );
  }
  const param = path.map(String).join('.');
  if (content !== undefined && content !== null) {
    throw badRequest(
      `\`${param}\`: expected a string or a list of content parts.`,
      param,
      'invalid_value',
    );
  }
  if (mayBeAbsent) return null;
  throw badRequest(`\`${param}\` is required.`, param, 'missing_required_parameter');
}

function toFunctionCall(call: z.infer<typeof toolCall>): ToolCall {
  if (!isCustom(call)) return call;
  const { name, input } = call.custom;
  return { id: call.id, type: 'function', function: { name, arguments: argumentsOfText(input) } };
}

function isCustom(call: z.infer<typeof toolCall>): call is z.infer<typeof customCall> {
  return call.type === 'custom';
}
