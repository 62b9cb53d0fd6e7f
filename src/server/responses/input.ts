/** The `input` of a response: a text, or a list of items checked one by one. */
import { z } from 'zod';
import { requireFewMessages } from '../../front/chat/chat-request.ts';
import { LIMITS } from '../../limits.ts';
import { badRequest } from '../errors.ts';
import { createId } from '../ids.ts';
import { boundedList, shortText } from '../schemas/fields.ts';
import { parseWith } from '../schemas/parse.ts';
import type { ContentPart, Item, ItemStatus } from './items.ts';

const textPart = z.looseObject({
  type: z.enum(['input_text', 'output_text', 'text']),
  text: z.string(),
});

const refusalPart = z.looseObject({ type: z.literal('refusal'), refusal: z.string() });

const parts = boundedList(
  z.discriminatedUnion('type', [textPart, refusalPart], {
    error: 'only text parts (`input_text`, `output_text`) are supported',
  }),
  LIMITS.messageParts,
);

const status = z.enum(['in_progress', 'completed', 'incomplete']).nullish();

const content = z.union([z.string(), parts], {
  error: 'expected a string or a list of text parts',
});

const message = z.looseObject({
  type: z.literal('message').nullish(),
  id: shortText.nullish(),
  status,
  role: z.enum(['system', 'developer', 'user', 'assistant']),
  content,
});

const functionCall = z.looseObject({
  type: z.literal('function_call'),
  id: shortText.nullish(),
  status,
  call_id: shortText.min(1),
  name: shortText.min(1),
  arguments: z.string(),
});

const functionCallOutput = z.looseObject({
  type: z.literal('function_call_output'),
  id: shortText.nullish(),
  status,
  call_id: shortText.min(1),
  output: content,
});

const reasoning = z.looseObject({
  type: z.literal('reasoning'),
  id: shortText.nullish(),
  status,
  summary: boundedList(z.looseObject({}), LIMITS.messageParts).nullish(),
  content: boundedList(
    z.looseObject({ type: z.literal('reasoning_text'), text: z.string() }),
    LIMITS.messageParts,
  ).nullish(),
});

const itemReference = z.looseObject({
  type: z.literal('item_reference').nullish(),
  id: shortText,
});

/** Describes `input` to readers; parsed by hand, so that the first bad item of a long list ends it. */
export const inputSchema = z.union([
  z.string(),
  z.array(z.union([message, functionCall, functionCallOutput, reasoning, itemReference])),
]);

/** Finds an item that an earlier response had, by its id. */
export type FindItem = (id: string) => Item | undefined;

/**
 * `value` as items with ids.
 * @throws ApiError 400 naming the item and field, such as `input.0.role`.
 */
export function parseInput(value: unknown, findItem: FindItem): Item[] {
  if (value === undefined || value === null) {
    throw badRequest('`input` is required.', 'input', 'missing_required_parameter');
  }
  if (typeof value === 'string') return [parseItem({ role: 'user', content: value }, 0, findItem)];
  if (!Array.isArray(value)) {
    throw badRequest('`input`: expected a string or a list of items.', 'input', 'invalid_value');
  }
  requireFewMessages(value, 'input');
  return value.map((item: unknown, index) => parseItem(item, index, findItem));
}

function parseItem(value: unknown, index: number, findItem: FindItem): Item {
  const path = ['input', index];
  switch (typeOf(value)) {
    case 'message':
      requireParts(value, 'content', path);
      return toMessage(parseWith(message, value, path));
    case 'function_call': {
      const call = parseWith(functionCall, value, path);
      return {
        id: call.id ?? createId('fc_'),
        type: 'function_call',
        status: call.status ?? 'completed',
        call_id: call.call_id,
        name: call.name,
        arguments: call.arguments,
      };
    }
    case 'function_call_output': {
      requireParts(value, 'output', path);
      const answer = parseWith(functionCallOutput, value, path);
      return {
        id: answer.id ?? createId('fco_'),
        type: 'function_call_output',
        status: answer.status ?? 'completed',
        call_id: answer.call_id,
        output: toText(answer.output),
      };
    }
    case 'reasoning': {
      const thought = parseWith(reasoning, value, path);
      return {
        id: thought.id ?? createId('rs_'),
        type: 'reasoning',
        status: thought.status ?? 'completed',
        summary: thought.summary ?? [],
        content: (thought.content ?? []).map(({ type, text }) => ({ type, text })),
      };
    }
    case 'item_reference': {
      const { id } = parseWith(itemReference, value, path);
      const item = findItem(id);
      if (item !== undefined) return item;
      throw badRequest(
        `Item with id '${id.slice(0, 100)}' not found.`,
        `input.${index}.id`,
        'item_not_found',
      );
    }
    default:
      throw badRequest(
        `\`input.${index}.type\`: expected \`message\`, \`function_call\`, \`function_call_output\`, \`reasoning\` or \`item_reference\`.`,
        `input.${index}.type`,
        'invalid_value',
      );
  }
}

/** A list on its own first: of a union zod can't tell which part of it is wrong. */
function requireParts(item: unknown, field: string, path: readonly PropertyKey[]): void {
  const list: unknown = Object(item)[field];
  if (Array.isArray(list)) parseWith(parts, list, [...path, field]);
}

/** Messages and references may come without a type. */
function typeOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return 'message';
  if ('type' in value && value.type !== undefined && value.type !== null) return value.type;
  return 'id' in value && !('role' in value) ? 'item_reference' : 'message';
}

function toMessage(value: z.infer<typeof message>): Item {
  const itemStatus: ItemStatus = value.status ?? 'completed';
  return {
    id: value.id ?? createId('msg_'),
    type: 'message',
    status: itemStatus,
    role: value.role,
    content: toParts(value.content, value.role === 'assistant'),
  };
}

function toParts(value: z.infer<typeof content>, isOutput: boolean): ContentPart[] {
  const list = typeof value === 'string' ? [{ type: 'text' as const, text: value }] : value;
  return list.map((part): ContentPart => {
    if (part.type === 'refusal') return { type: 'refusal', refusal: part.refusal };
    return isOutput
      ? { type: 'output_text', text: part.text, annotations: [], logprobs: [] }
      : { type: 'input_text', text: part.text };
  });
}

function toText(value: z.infer<typeof content>): string {
  if (typeof value === 'string') return value;
  return value.map((part) => (part.type === 'refusal' ? part.refusal : part.text)).join('\n');
}
