/** From a response's body and its conversation to a chat. */
import { allowTools } from '../../front/chat/allowed-tools.ts';
import { type ImagePart, imagePart } from '../../front/chat/chat-images.ts';
import type { ChatMessage, ContentPart, ToolCall } from '../../front/templates/chat-message.ts';
import type { ChatRequest } from '../../front/chat/chat-request.ts';
import { argumentsOfText } from '../../front/chat/custom-tools.ts';
import { thinkingOf } from '../../front/templates/thinking.ts';
import type { GrammarSource } from '../../grammar/grammar-source.ts';
import type { ServedModel } from '../runtimes.ts';
import { badRequest } from '../errors.ts';
import { thinkingBudgetOf, toSettings } from '../generation/parameters.ts';
import type { GenerationFields } from '../schemas/fields.ts';
import {
  type AllowedTools,
  generationFieldsOfResponses,
  type NamedTool,
  type ResponseBody,
} from '../schemas/responses.ts';
import {
  type CallItem,
  type CallOutputItem,
  CLIENT_CALLS,
  type ContentPart as ItemPart,
  type InputImage,
  isCall,
  isCallOutput,
  isClientCall,
  type Item,
  textOf,
  textOfPart,
} from './items.ts';
import { callName, type CallableTools } from './tools.ts';
import { told } from '../../told.ts';

/**
 * @param items the whole conversation, oldest first
 * @throws ApiError 400 when the body can't be served.
 */
export function toChatRequest(
  body: ResponseBody,
  items: readonly Item[],
  tools: CallableTools,
  model: ServedModel,
): ChatRequest {
  return {
    messages: toMessages(body.instructions ?? null, items),
    ...toTools(body, tools),
    textGrammars: tools.textGrammars,
    thinkingBudget: thinkingBudgetOf(body),
    parallelToolCalls: body.parallel_tool_calls ?? true,
    addGenerationPrompt: true,
    continueFinalMessage: false,
    templateVariables: body.chat_template_kwargs ?? null,
    thinking: thinkingOf(body.reasoning?.effort),
    responseFormat: toResponseFormat(body),
    settings: { ...toSettings(generationFieldsOf(body), model), logprobs: topLogprobsOf(body) },
    badWords: [],
    numChoices: 1,
    limits: {
      maxTokens: body.max_output_tokens ?? null,
      defaultMaxTokens: null,
      truncatePromptTokens: null,
      fields: { prompt: 'input', maxTokens: 'max_output_tokens' },
    },
  };
}

/** Null when log-probabilities were not asked for. */
export function topLogprobsOf(body: ResponseBody): number | null {
  const wantsLogprobs = (body.include ?? []).includes('message.output_text.logprobs');
  return wantsLogprobs ? (body.top_logprobs ?? 0) : null;
}

/** Picks the fields of a body that were checked. */
function generationFieldsOf(body: ResponseBody): GenerationFields {
  const names = Object.keys(generationFieldsOfResponses);
  return Object.fromEntries(names.map((name) => [name, body[name]]));
}

/** @throws ApiError 400 for an output whose call is not in the conversation. */
export function requireCallsOfOutputs(items: readonly Item[]): void {
  const callIds = new Set<string>();
  for (const item of items) {
    if (isCall(item)) callIds.add(item.call_id);
    if (!isCallOutput(item) || callIds.has(item.call_id)) continue;
    const kind = item.type.replaceAll('_', ' ');
    throw badRequest(
      `No tool call found for ${kind} with call_id ${told(item.call_id, 100)}.`,
      'input',
      'invalid_value',
    );
  }
}

/**
 * Joins items to messages: the model's texts and calls between two turns of others are one message, and
 * templates expect one system message, at the start.
 */
function toMessages(instructions: string | null, items: readonly Item[]): ChatMessage[] {
  const system = instructions === null ? [] : [instructions];
  let numLeading = 0;
  for (const item of items) {
    if (item.type !== 'message' || !isInstruction(item.role)) break;
    system.push(textOf(item));
    numLeading++;
  }
  const messages: ChatMessage[] =
    system.length === 0 ? [] : [{ role: 'system', content: system.join('\n\n') }];
  const names = new Map<string, string>();
  let turn: AssistantTurn | null = null;
  const endTurn = (): void => {
    if (turn !== null) messages.push(turn.toMessage());
    turn = null;
  };
  for (const item of items.slice(numLeading)) {
    if (item.type === 'message' && item.role !== 'assistant') {
      endTurn();
      const role = isInstruction(item.role) ? 'system' : item.role;
      messages.push({ role, content: contentOf(item.content, '') });
    } else if (isCallOutput(item)) {
      endTurn();
      const { call_id: callId } = item;
      const name = names.get(callId);
      // Its call was cut off with the start of a conversation that is too long.
      if (name === undefined) continue;
      messages.push({ role: 'tool', tool_call_id: callId, name, content: outputOf(item) });
    } else if (item.type === 'message') {
      (turn ??= new AssistantTurn()).texts.push(textOf(item));
    } else if (item.type === 'reasoning') {
      (turn ??= new AssistantTurn()).thoughts.push(...item.content.map((p) => p.text));
    } else if (isCall(item)) {
      const call = toToolCall(item);
      (turn ??= new AssistantTurn()).calls.push(call);
      names.set(item.call_id, call.function.name);
    }
  }
  endTurn();
  return messages;
}

class AssistantTurn {
  readonly thoughts: string[] = [];
  readonly texts: string[] = [];
  readonly calls: ToolCall[] = [];

  toMessage(): ChatMessage {
    return {
      role: 'assistant',
      content: this.texts.join('\n'),
      ...(this.thoughts.length > 0 ? { reasoning_content: this.thoughts.join('\n') } : {}),
      ...(this.calls.length > 0 ? { tool_calls: this.calls } : {}),
    };
  }
}

/** An item as the call that the model made. */
function toToolCall(item: CallItem): ToolCall {
  const [name, json] = calledAs(item);
  return { id: item.call_id, type: 'function', function: { name, arguments: json } };
}

/** The name and the arguments of a call, for a model. */
function calledAs(item: CallItem): [name: string, json: string] {
  if (isClientCall(item)) {
    const { name, argumentsField } = CLIENT_CALLS[item.type];
    return [name, JSON.stringify(item[argumentsField] ?? {})];
  }
  const name = callName(item.name, item.namespace);
  const isCustom = item.type === 'custom_tool_call';
  return [name, isCustom ? argumentsOfText(item.input) : item.arguments];
}

function outputOf(item: CallOutputItem): string | ContentPart[] {
  if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output') {
    return typeof item.output === 'string' ? item.output : contentOf(item.output, '\n');
  }
  return typeof item.output === 'string' ? item.output : JSON.stringify(item.output ?? null);
}

/** A text, or parts where there are images among them. @param between texts */
function contentOf(parts: readonly ItemPart[], between: string): string | ContentPart[] {
  if (parts.every(({ type }) => type !== 'input_image')) return parts.map(textOfPart).join(between);
  return parts.map((part) =>
    part.type === 'input_image' ? toImagePart(part) : { type: 'text', text: textOfPart(part) },
  );
}

function toImagePart({ image_url: url, file_id: id = '', detail }: InputImage): ImagePart {
  const source =
    url === undefined ? ({ type: 'file', id } as const) : ({ type: 'url', url } as const);
  return imagePart(source, 'input', detail);
}

function isInstruction(role: string): boolean {
  return role === 'system' || role === 'developer';
}

function toTools(
  body: ResponseBody,
  { tools, skipped }: CallableTools,
): Pick<ChatRequest, 'tools' | 'toolChoice' | 'withheldTools'> {
  const choice = body.tool_choice ?? 'auto';
  // A model cannot call tools that were all left out.
  if (tools.length === 0 && (choice === 'auto' || skipped.length > 0)) {
    return { tools, toolChoice: 'none' };
  }
  if (typeof choice === 'string') return { tools, toolChoice: choice };
  if (isAllowedTools(choice)) {
    return allowTools(tools, { mode: choice.mode, names: choice.tools.flatMap(nameOfChoice) });
  }
  const [name] = nameOfChoice(choice);
  return { tools, toolChoice: name === undefined ? 'auto' : { name } };
}

function isAllowedTools(choice: NamedTool | AllowedTools): choice is AllowedTools {
  return choice.type === 'allowed_tools';
}

/** None for a tool that was left out. */
function nameOfChoice({ type, name, namespace }: NamedTool): string[] {
  const isCallable = type === 'function' || type === 'custom';
  return isCallable && name ? [callName(name, namespace)] : [];
}

function toResponseFormat({ text }: ResponseBody): GrammarSource | null {
  const format = text?.format;
  switch (format?.type) {
    case 'json_object':
      return { field: 'text.format', form: { kind: 'json_object' } };
    case 'json_schema':
      return {
        field: 'text.format.schema',
        form: { kind: 'json_schema', schema: format.schema },
      };
    case 'text':
    case undefined:
      return null;
  }
}
