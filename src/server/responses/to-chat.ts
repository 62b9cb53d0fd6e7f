/** From a response's body and its conversation to the body of a chat completion. */
import { ApiError, badRequest } from '../errors.ts';
import type { JsonObject } from '../openai/answer.ts';
import { passedToChat, type ResponseBody } from '../schemas/responses.ts';
import { textOf, type FunctionCallItem, type Item } from './items.ts';

/** What the chat API calls a field, and what this one does. */
const FIELD_NAMES: Readonly<Record<string, string>> = {
  messages: 'input',
  max_tokens: 'max_output_tokens',
  max_completion_tokens: 'max_output_tokens',
  response_format: 'text.format',
};

/** @param items the whole conversation, oldest first */
export function toChatBody(body: ResponseBody, items: readonly Item[]): JsonObject {
  const passed = Object.keys(passedToChat).flatMap((field) =>
    body[field] === undefined ? [] : [[field, body[field]] as const],
  );
  const wantsLogprobs = (body.include ?? []).includes('message.output_text.logprobs');
  return {
    ...Object.fromEntries(passed),
    messages: toMessages(body.instructions ?? null, items),
    max_completion_tokens: body.max_output_tokens,
    ...(wantsLogprobs ? { logprobs: true, top_logprobs: body.top_logprobs ?? 0 } : {}),
    ...toToolFields(body),
    response_format: toResponseFormat(body),
    reasoning_effort: body.reasoning?.effort,
  };
}

/** An error of the chat API in this API's words. */
export function fromChatError(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.param === null) return error;
  const [field = '', ...rest] = error.param.split('.');
  const name = FIELD_NAMES[field];
  if (name === undefined) return error;
  return new ApiError(
    error.status,
    error.type,
    error.message.replaceAll(`\`${field}`, `\`${name}`),
    { param: [name, ...rest].join('.'), code: error.code, headers: error.headers },
  );
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
function toMessages(instructions: string | null, items: readonly Item[]): JsonObject[] {
  const system = instructions === null ? [] : [instructions];
  let numLeading = 0;
  for (const item of items) {
    if (item.type !== 'message' || !isInstruction(item.role)) break;
    system.push(textOf(item));
    numLeading++;
  }
  const messages: JsonObject[] =
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

  toMessage(): JsonObject {
    return {
      role: 'assistant',
      content: this.texts.join('\n'),
      ...(this.thoughts.length > 0 ? { reasoning_content: this.thoughts.join('\n') } : {}),
      ...(this.calls.length > 0 ? { tool_calls: this.calls.map(toToolCall) } : {}),
    };
  }
}

function toToolCall(item: FunctionCallItem): JsonObject {
  return {
    id: item.call_id,
    type: 'function',
    function: { name: item.name, arguments: item.arguments },
  };
}

function isInstruction(role: string): boolean {
  return role === 'system' || role === 'developer';
}

function toToolFields(body: ResponseBody): JsonObject {
  const { tool_choice: choice } = body;
  let tools = body.tools ?? [];
  let chatChoice: unknown = choice;
  if (typeof choice === 'object' && choice !== null) {
    if (choice.type === 'allowed_tools') {
      const allowed = new Set(choice.tools.map(({ name }) => name));
      tools = tools.filter(({ name }) => allowed.has(name));
      chatChoice = choice.mode;
    } else {
      chatChoice = { type: 'function', function: { name: choice.name } };
    }
  }
  if (tools.length === 0) {
    // Without tools there is nothing to choose; with `required` chat refuses that in its own words.
    return chatChoice === 'none' || chatChoice === 'auto' ? {} : { tool_choice: chatChoice };
  }
  return {
    tools: tools.map(({ type, ...definition }) => ({ type, function: withoutNulls(definition) })),
    tool_choice: chatChoice,
  };
}

/** Templates show what is there. */
function withoutNulls(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

function toResponseFormat({ text }: ResponseBody): JsonObject | undefined {
  const format = text?.format;
  if (format === undefined || format === null) return undefined;
  if (format.type !== 'json_schema') return { type: format.type };
  const { name, description, schema, strict } = format;
  return { type: format.type, json_schema: { name, description, schema, strict } };
}
