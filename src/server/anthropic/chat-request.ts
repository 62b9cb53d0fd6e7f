/** From a body of /v1/messages to a chat. */
import type { ChatMessage, ToolCall } from '../../front/templates/chat-message.ts';
import {
  requireFewMessages,
  type ChatRequest,
  type ChatTool,
  type ThinkingBudget,
  type ToolChoice,
} from '../../front/chat/chat-request.ts';
import { type Thinking, thinkingOf } from '../../front/templates/thinking.ts';
import type { GrammarSource } from '../../grammar/grammar-source.ts';
import type { ServedModel } from '../runtimes.ts';
import { badRequest } from '../errors.ts';
import { toSettings } from '../generation/parameters.ts';
import {
  anthropicMessage,
  blocks,
  type AnthropicMessage,
  type Block,
  type CountTokensBody,
  type MessagesBody,
  ownTool,
  type OwnTool,
} from '../schemas/anthropic.ts';
import { parseWith } from '../schemas/parse.ts';
import { contentOf } from './content.ts';

/**
 * @param body to count tokens, what shapes the prompt is enough
 * @param tools of the body, as `parseTools` has them
 * @throws ApiError 400 when the body can't be served.
 */
export function toChatRequest(
  body: CountTokensBody & Partial<MessagesBody>,
  tools: readonly ChatTool[],
  model: ServedModel,
): ChatRequest {
  const messages = parseMessages(body['messages']);
  // An answer that was begun is gone on with.
  const isBegun = messages.at(-1)?.role === 'assistant';
  const { temperature, top_p, top_k, stop_sequences: stop, metadata } = body;
  return {
    messages: toMessages(body.system ?? '', messages),
    tools,
    toolChoice: tools.length === 0 ? 'none' : toToolChoice(body.tool_choice),
    parallelToolCalls: body.tool_choice?.['disable_parallel_tool_use'] !== true,
    addGenerationPrompt: !isBegun,
    continueFinalMessage: isBegun,
    templateVariables: null,
    thinking: toThinking(body),
    thinkingBudget: toThinkingBudget(body),
    responseFormat: toResponseFormat(body),
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

/** Whether comes before how hard. */
function toThinking({
  thinking,
  output_config: config,
}: CountTokensBody & Partial<MessagesBody>): Thinking {
  if (thinking?.type === 'disabled') return false;
  return thinkingOf(config?.effort) ?? (thinking ? true : null);
}

function toThinkingBudget({ thinking }: CountTokensBody): ThinkingBudget | null {
  const maxTokens = thinking?.type === 'enabled' ? (thinking.budget_tokens ?? null) : null;
  return maxTokens === null ? null : { maxTokens, field: 'thinking.budget_tokens' };
}

/** @throws ApiError 400 for one under both names */
function toResponseFormat({
  output_config: config,
  output_format: older,
}: CountTokensBody & Partial<MessagesBody>): GrammarSource | null {
  const format = config?.format ?? older ?? null;
  if (format === null) return null;
  if (config?.format && older) {
    const message = '`output_config.format` and `output_format` exclude each other.';
    throw badRequest(message, 'output_format', 'invalid_value');
  }
  const field = older ? 'output_format.schema' : 'output_config.format.schema';
  return { field, form: { kind: 'json_schema', schema: format.schema } };
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

/** Templates expect one system message, at the start: those that stand there are joined. */
function toMessages(
  system: NonNullable<CountTokensBody['system']>,
  messages: readonly AnthropicMessage[],
): ChatMessage[] {
  const first = messages.findIndex(({ role }) => role !== 'system');
  const numLeading = first === -1 ? messages.length : first;
  const leading = messages.slice(0, numLeading).map(({ content }, at) => textAlone(content, at));
  const texts = [textOfSystem(system), ...leading];
  const content = texts.filter((text) => text !== '').join('\n\n');
  const rest = messages
    .slice(numLeading)
    .flatMap((message, at) => toChatMessages(message, numLeading + at));
  return content === '' ? rest : [{ role: 'system', content }, ...rest];
}

/** Begins a line of Claude Code that is another one in each turn: nothing after it could be reused. */
const BILLING_LINE = /^x-anthropic-billing-header:[^\n]*\n?/;

function textOfSystem(system: NonNullable<CountTokensBody['system']>): string {
  const blocksOfSystem = typeof system === 'string' ? [{ text: system }] : system;
  return blocksOfSystem
    .map(({ text }) => text.replace(BILLING_LINE, ''))
    .filter((text) => text !== '')
    .join('\n');
}

/** The text of a system message. @throws ApiError 400 for one with an image */
function textAlone(content: AnthropicMessage['content'], index: number): string {
  if (typeof content === 'string') return content;
  const field = `messages.${index}.content`;
  const text = contentOf(content, field);
  if (typeof text === 'string') return text;
  throw badRequest(`\`${field}\`: images are taken from the user only.`, field, 'invalid_value');
}

/** A user's turn may hold results of tools, which are messages of their own in a chat. */
function toChatMessages({ role, content }: AnthropicMessage, index: number): ChatMessage[] {
  if (typeof content === 'string') return [{ role, content }];
  if (role === 'system') return [{ role, content: textAlone(content, index) }];
  const field = `messages.${index}.content`;
  const read = contentOf(content, field);
  if (role === 'user') {
    const results = content.flatMap((block, at) => toToolMessage(block, `${field}.${at}`));
    return read === '' && results.length > 0 ? results : [...results, { role, content: read }];
  }
  const calls = content.flatMap(toToolCall);
  const thoughts = content.flatMap((block) => (block.type === 'thinking' ? [block.thinking] : []));
  return [
    {
      role,
      content: read,
      ...(thoughts.length > 0 ? { reasoning_content: thoughts.join('\n') } : {}),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    },
  ];
}

function toToolMessage(block: Block, field: string): ChatMessage[] {
  if (block.type !== 'tool_result') return [];
  const { content: sent } = block;
  const content = typeof sent === 'string' ? sent : contentOf(sent ?? [], `${field}.content`);
  return [{ role: 'tool', tool_call_id: block.tool_use_id, content }];
}

function toToolCall(block: Block): ToolCall[] {
  if (block.type !== 'tool_use') return [];
  const call = { name: block.name, arguments: JSON.stringify(block.input) };
  return [{ id: block.id, type: 'function', function: call }];
}

/**
 * Tools that the model can call, and types of those that it cannot: Anthropic's own.
 * @throws ApiError 400 naming the tool that is not well formed
 */
export function parseTools(list: CountTokensBody['tools']): {
  readonly tools: readonly ChatTool[];
  readonly skipped: readonly string[];
} {
  const tools: ChatTool[] = [];
  const skipped = new Set<string>();
  for (const [index, tool] of (list ?? []).entries()) {
    const type = tool.type ?? 'custom';
    if (type !== 'custom') skipped.add(type);
    else tools.push(toTool(parseWith(ownTool, tool, ['tools', index])));
  }
  return { tools, skipped: [...skipped] };
}

/** As templates show it. */
function toTool({ name, description, input_schema: parameters, strict }: OwnTool): ChatTool {
  const described = typeof description === 'string' ? { description } : {};
  const definition = { name, ...described, parameters, ...(strict ? { strict } : {}) };
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
