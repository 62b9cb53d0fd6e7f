/** From a response's body and its conversation to a chat. */
import type { ChatMessage, ToolCall } from '../../front/chat/chat-message.ts';
import type { ChatRequest, ChatTool, ToolChoice } from '../../front/chat/chat-request.ts';
import type { GrammarSource } from '../../grammar/grammar-source.ts';
import type { ServedModel } from '../context.ts';
import { badRequest } from '../errors.ts';
import { toSettings } from '../generation/parameters.ts';
import type { GenerationFields } from '../schemas/fields.ts';
import { generationFieldsOfResponses, type ResponseBody } from '../schemas/responses.ts';
import { textOf, type FunctionCallItem, type Item } from './items.ts';

/**
 * @param items the whole conversation, oldest first
 * @throws ApiError 400 when the body can't be served.
 */
export function toChatRequest(
  body: ResponseBody,
  items: readonly Item[],
  model: ServedModel,
): ChatRequest {
  return {
    messages: toMessages(body.instructions ?? null, items),
    ...toTools(body),
    parallelToolCalls: body.parallel_tool_calls ?? true,
    addGenerationPrompt: true,
    continueFinalMessage: false,
    templateVariables: body.chat_template_kwargs ?? null,
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

/** Of what is in a body only the fields that were checked. */
function generationFieldsOf(body: ResponseBody): GenerationFields {
  const names = Object.keys(generationFieldsOfResponses);
  return Object.fromEntries(names.map((name) => [name, body[name]]));
}

/** @throws ApiError 400 for an output whose call is not in the conversation. */
export function requireCallsOfOutputs(items: readonly Item[]): void {
  const callIds = new Set<string>();
  for (const item of items) {
    if (item.type === 'function_call') callIds.add(item.call_id);
    if (item.type !== 'function_call_output' || callIds.has(item.call_id)) continue;
    throw badRequest(
      `No tool call found for function call output with call_id ${item.call_id.slice(0, 100)}.`,
      'input',
      'invalid_value',
    );
  }
}

/**
 * What a model says and calls between two turns of others is one message in a chat, and templates
 * expect one system message, at the start: items are joined accordingly.
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
      messages.push({ role, content: textOf(item) });
    } else if (item.type === 'function_call_output') {
      endTurn();
      const name = names.get(item.call_id);
      // Its call was cut off with the start of a conversation that is too long.
      if (name === undefined) continue;
      messages.push({ role: 'tool', tool_call_id: item.call_id, name, content: item.output });
    } else {
      turn ??= new AssistantTurn();
      if (item.type === 'message') turn.texts.push(textOf(item));
      else if (item.type === 'reasoning') turn.thoughts.push(...item.content.map((p) => p.text));
      else {
        turn.calls.push(item);
        names.set(item.call_id, item.name);
      }
    }
  }
  endTurn();
  return messages;
}

class AssistantTurn {
  readonly thoughts: string[] = [];
  readonly texts: string[] = [];
  readonly calls: FunctionCallItem[] = [];

  toMessage(): ChatMessage {
    return {
      role: 'assistant',
      content: this.texts.join('\n'),
      ...(this.thoughts.length > 0 ? { reasoning_content: this.thoughts.join('\n') } : {}),
      ...(this.calls.length > 0 ? { tool_calls: this.calls.map(toToolCall) } : {}),
    };
  }
}

function toToolCall(item: FunctionCallItem): ToolCall {
  return {
    id: item.call_id,
    type: 'function',
    function: { name: item.name, arguments: item.arguments },
  };
}

function isInstruction(role: string): boolean {
  return role === 'system' || role === 'developer';
}

function toTools(body: ResponseBody): Pick<ChatRequest, 'tools' | 'toolChoice'> {
  const { tool_choice: choice } = body;
  let tools = body.tools ?? [];
  let toolChoice: ToolChoice;
  if (typeof choice !== 'object' || choice === null) {
    toolChoice = choice ?? (tools.length > 0 ? 'auto' : 'none');
  } else if (choice.type === 'allowed_tools') {
    const allowed = new Set(choice.tools.map(({ name }) => name));
    tools = tools.filter(({ name }) => allowed.has(name));
    toolChoice = choice.mode;
  } else {
    toolChoice = { name: choice.name };
  }
  return { tools: tools.map(toTool), toolChoice };
}

/** As templates show it. */
function toTool(tool: NonNullable<ResponseBody['tools']>[number]): ChatTool {
  const { type, ...definition } = tool;
  // Templates show what is there.
  const fields = Object.entries(definition).filter(([, value]) => value !== null);
  return { type, function: { name: definition.name, ...Object.fromEntries(fields) } };
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
