/** The `input` of a response: a text, or a list of items checked one by one. */
import type { z } from 'zod';
import { requireFewMessages } from '../../front/chat/chat-request.ts';
import { badRequest } from '../errors.ts';
import { createId } from '../ids.ts';
import { parseWith } from '../schemas/parse.ts';
import {
  clientCall,
  clientCallOutput,
  compaction,
  content,
  customCall,
  customCallOutput,
  functionCall,
  functionCallOutput,
  hostedItem,
  itemReference,
  message,
  parts,
  reasoning,
} from './item-schemas.ts';
import {
  HOSTED_ITEMS,
  type ContentPart,
  type InputImage,
  textOfPart,
  type Item,
  type ItemStatus,
  type ReasoningItem,
} from './items.ts';
import type { inputImagePart } from '../schemas/images.ts';
import type { SealedTexts } from './sealed-texts.ts';
import { told } from '../../told.ts';

export interface InputOptions {
  /** Field that has the items, for errors; `input` if left out. */
  readonly field?: string;
  /** Finds an item that an earlier response had, by its id. */
  readonly findItem: (id: string) => Item | undefined;
  readonly thoughts: SealedTexts;
  /** Opens what conversations were summed up to. */
  readonly summaries: SealedTexts;
}

/**
 * `value` as items with ids.
 * @throws ApiError 400 naming the item and field, such as `input.0.role`.
 */
export function parseInput(value: unknown, options: InputOptions): Item[] {
  const { field = 'input' } = options;
  if (value === undefined || value === null) {
    throw badRequest(`\`${field}\` is required.`, field, 'missing_required_parameter');
  }
  if (typeof value === 'string') return [parseItem({ role: 'user', content: value }, 0, options)];
  if (!Array.isArray(value)) {
    throw badRequest(`\`${field}\`: expected a string or a list of items.`, field, 'invalid_value');
  }
  requireFewMessages(value, field);
  return value.map((item: unknown, index) => parseItem(item, index, options));
}

function parseItem(value: unknown, index: number, options: InputOptions): Item {
  const { field = 'input' } = options;
  const path = [field, index];
  const type = typeOf(value);
  switch (type) {
    case 'message':
      requireParts(value, 'content', path);
      return toMessage(parseWith(message, value, path), path);
    case 'function_call': {
      const call = parseWith(functionCall, value, path);
      return {
        id: call.id ?? createId('fc_'),
        type: 'function_call',
        status: call.status ?? 'completed',
        call_id: call.call_id,
        name: call.name,
        ...(call.namespace ? { namespace: call.namespace } : {}),
        arguments: call.arguments,
      };
    }
    case 'custom_tool_call': {
      const call = parseWith(customCall, value, path);
      return {
        id: call.id ?? createId('ctc_'),
        type,
        status: call.status ?? 'completed',
        call_id: call.call_id,
        name: call.name,
        ...(call.namespace ? { namespace: call.namespace } : {}),
        input: call.input,
      };
    }
    case 'custom_tool_call_output': {
      requireParts(value, 'output', path);
      const answer = parseWith(customCallOutput, value, path);
      return {
        id: answer.id ?? createId('ctco_'),
        type,
        call_id: answer.call_id,
        output: toOutput(answer.output),
      };
    }
    case 'local_shell_call':
    case 'shell_call':
    case 'apply_patch_call': {
      const call = parseWith(clientCall, value, path);
      return { ...call, type, id: call.id ?? createId('call_') };
    }
    case 'local_shell_call_output':
    case 'shell_call_output':
    case 'apply_patch_call_output': {
      const answer = parseWith(clientCallOutput, value, path);
      const id = answer.id ?? createId('out_');
      return { ...answer, type, id, call_id: answer.call_id ?? id, output: answer.output };
    }
    case 'function_call_output': {
      requireParts(value, 'output', path);
      const answer = parseWith(functionCallOutput, value, path);
      return {
        id: answer.id ?? createId('fco_'),
        type: 'function_call_output',
        status: answer.status ?? 'completed',
        call_id: answer.call_id,
        output: toOutput(answer.output),
      };
    }
    case 'reasoning': {
      const thought = parseWith(reasoning, value, path);
      return {
        id: thought.id ?? createId('rs_'),
        type: 'reasoning',
        status: thought.status ?? 'completed',
        summary: thought.summary ?? [],
        content: contentOf(thought, options.thoughts),
      };
    }
    case 'compaction': {
      const summary = parseWith(compaction, value, path);
      requireOpen(summary.encrypted_content, index, options);
      const id = summary.id ?? createId('cmp_');
      return { id, type, encrypted_content: summary.encrypted_content };
    }
    case 'item_reference': {
      const { id } = parseWith(itemReference, value, path);
      const item = options.findItem(id);
      if (item !== undefined) return item;
      throw badRequest(
        `Item with id '${told(id, 100)}' not found.`,
        `${field}.${index}.id`,
        'item_not_found',
      );
    }
    default: {
      if (isHosted(type)) {
        const hosted = parseWith(hostedItem, value, path);
        return { ...hosted, id: hosted.id ?? createId('item_') };
      }
      throw badRequest(
        `\`${field}.${index}.type\`: expected \`message\`, \`function_call\`, \`function_call_output\`, \`custom_tool_call\`, \`custom_tool_call_output\`, \`reasoning\`, \`compaction\`, \`item_reference\`, or an item of another tool.`,
        `${field}.${index}.type`,
        'invalid_value',
      );
    }
  }
}

/** @throws ApiError 400 for what was sealed elsewhere: without it the conversation makes no sense */
function requireOpen(
  sealed: string,
  index: number,
  { summaries, field: list = 'input' }: InputOptions,
): void {
  if (summaries.open(sealed) !== null) return;
  const field = `${list}.${index}.encrypted_content`;
  throw badRequest(`\`${field}\` was not made by this server for you.`, field, 'invalid_value');
}

function isHosted(type: unknown): boolean {
  return (HOSTED_ITEMS as readonly unknown[]).includes(type);
}

/** Thoughts as they were sent, or as they were sealed; those sealed elsewhere are lost. */
function contentOf(
  { content: sent, encrypted_content: sealed }: z.infer<typeof reasoning>,
  thoughts: SealedTexts,
): ReasoningItem['content'] {
  if (sent?.length) return sent.map(({ type, text }) => ({ type, text }));
  const text = sealed ? thoughts.open(sealed) : null;
  return text === null ? [] : [{ type: 'reasoning_text', text }];
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

/** @throws ApiError 400 for an image that is not the user's */
function toMessage(value: z.infer<typeof message>, path: readonly PropertyKey[]): Item {
  const itemStatus: ItemStatus = value.status ?? 'completed';
  const all = toParts(value.content, value.role === 'assistant');
  if (value.role !== 'user' && all.some(({ type }) => type === 'input_image')) {
    const field = [...path, 'content'].map(String).join('.');
    throw badRequest(`\`${field}\`: images are taken from the user only.`, field, 'invalid_value');
  }
  return {
    id: value.id ?? createId('msg_'),
    type: 'message',
    status: itemStatus,
    role: value.role,
    ...(value.phase ? { phase: value.phase } : {}),
    content: all,
  };
}

function toParts(value: z.infer<typeof content>, isOutput: boolean): ContentPart[] {
  const list = typeof value === 'string' ? [{ type: 'text' as const, text: value }] : value;
  return list.map((part): ContentPart => {
    if (part.type === 'refusal') return { type: 'refusal', refusal: part.refusal };
    if (part.type === 'input_image') return toImage(part);
    return isOutput
      ? { type: 'output_text', text: part.text, annotations: [], logprobs: [] }
      : { type: 'input_text', text: part.text };
  });
}

function toImage({
  image_url: url,
  file_id: id,
  detail,
}: z.infer<typeof inputImagePart>): InputImage {
  return {
    type: 'input_image',
    ...(url ? { image_url: url } : {}),
    ...(id ? { file_id: id } : {}),
    detail: detail ?? 'auto',
  };
}

/** A text, or parts where there are images among them. */
function toOutput(value: z.infer<typeof content>): string | ContentPart[] {
  if (typeof value === 'string') return value;
  const all = toParts(value, false);
  return all.some(({ type }) => type === 'input_image') ? all : all.map(textOfPart).join('\n');
}
