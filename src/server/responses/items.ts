/** The items that a conversation consists of in the Responses API, as they are kept and shown. */
import type { ChatTokenLogprob } from '../generation/logprobs-format.ts';
import type { JsonObject } from '../json-object.ts';

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

export interface InputImage {
  readonly type: 'input_image';
  /** Either of both. */
  readonly image_url?: string;
  readonly file_id?: string;
  readonly detail: string;
}

export type ContentPart =
  | { readonly type: 'input_text'; readonly text: string }
  | InputImage
  | {
      readonly type: 'output_text';
      readonly text: string;
      readonly annotations: readonly [];
      readonly logprobs: readonly ChatTokenLogprob[];
    }
  | { readonly type: 'refusal'; readonly refusal: string };

export interface MessageItem {
  readonly id: string;
  readonly type: 'message';
  readonly status: ItemStatus;
  readonly role: 'system' | 'developer' | 'user' | 'assistant';
  readonly content: readonly ContentPart[];
  /** Whether an assistant's message is on the way to an answer, or is one: kept as it is sent. */
  readonly phase?: 'commentary' | 'final_answer';
}

export interface FunctionCallItem {
  readonly id: string;
  readonly type: 'function_call';
  readonly status: ItemStatus;
  readonly call_id: string;
  readonly name: string;
  /** Where its tool is in one. */
  readonly namespace?: string;
  /** JSON text. */
  readonly arguments: string;
}

export interface FunctionCallOutputItem {
  readonly id: string;
  readonly type: 'function_call_output';
  readonly status: ItemStatus;
  readonly call_id: string;
  /** Parts where there are images among them. */
  readonly output: string | readonly ContentPart[];
}

export interface CustomCallItem {
  readonly id: string;
  readonly type: 'custom_tool_call';
  readonly status: ItemStatus;
  readonly call_id: string;
  readonly name: string;
  readonly namespace?: string;
  readonly input: string;
}

export interface CustomCallOutputItem {
  readonly id: string;
  readonly type: 'custom_tool_call_output';
  readonly call_id: string;
  readonly output: string | readonly ContentPart[];
}

/** Calls of tools that other servers' models know without a definition; their clients run them. */
export const CLIENT_CALLS = {
  local_shell_call: { name: 'local_shell', argumentsField: 'action' },
  shell_call: { name: 'shell', argumentsField: 'action' },
  apply_patch_call: { name: 'apply_patch', argumentsField: 'operation' },
} as const;

const CALL_OUTPUTS: ReadonlySet<string> = new Set(
  ['function_call', 'custom_tool_call', ...Object.keys(CLIENT_CALLS)].map(
    (type) => `${type}_output`,
  ),
);

/** Items of what other servers do by themselves: kept and shown, and not for the model. */
export const HOSTED_ITEMS = [
  'web_search_call',
  'file_search_call',
  'computer_call',
  'computer_call_output',
  'code_interpreter_call',
  'image_generation_call',
  'mcp_list_tools',
  'mcp_approval_request',
  'mcp_approval_response',
  'mcp_call',
  'tool_search_call',
  'tool_search_output',
  'additional_tools',
] as const;

export interface ClientCallItem extends JsonObject {
  readonly id: string;
  readonly type: keyof typeof CLIENT_CALLS;
  readonly call_id: string;
}

export interface ClientCallOutputItem extends JsonObject {
  readonly id: string;
  readonly type: `${keyof typeof CLIENT_CALLS}_output`;
  readonly call_id: string;
  readonly output: unknown;
}

/** A call of a tool, whoever knows it. */
export type CallItem = FunctionCallItem | CustomCallItem | ClientCallItem;

/** The result of a call. */
export type CallOutputItem = FunctionCallOutputItem | CustomCallOutputItem | ClientCallOutputItem;

export function isClientCall(item: Item): item is ClientCallItem {
  return item.type in CLIENT_CALLS;
}

export function isCall(item: Item): item is CallItem {
  return item.type === 'function_call' || item.type === 'custom_tool_call' || isClientCall(item);
}

export function isCallOutput(item: Item): item is CallOutputItem {
  return CALL_OUTPUTS.has(item.type);
}

export interface HostedItem extends JsonObject {
  readonly id: string;
  readonly type: (typeof HOSTED_ITEMS)[number];
}

export interface ReasoningItem {
  readonly id: string;
  readonly type: 'reasoning';
  readonly status: ItemStatus;
  readonly summary: readonly JsonObject[];
  readonly content: readonly { readonly type: 'reasoning_text'; readonly text: string }[];
  /** The text sealed, for clients that have the server keep nothing. */
  readonly encrypted_content?: string;
}

/** Summary of a conversation, encrypted: only this server can read it. */
export interface CompactionItem {
  readonly id: string;
  readonly type: 'compaction';
  readonly encrypted_content: string;
}

export type Item =
  | CompactionItem
  | MessageItem
  | FunctionCallItem
  | FunctionCallOutputItem
  | CustomCallItem
  | CustomCallOutputItem
  | ClientCallItem
  | ClientCallOutputItem
  | HostedItem
  | ReasoningItem;

/** Item that an answer may add to a conversation. */
export type OutputItem =
  | CompactionItem
  | MessageItem
  | FunctionCallItem
  | CustomCallItem
  | ReasoningItem;

/** The text of a message's parts, one after the other, without images. */
export function textOf(message: MessageItem): string {
  return message.content.map(textOfPart).join('');
}

/** '' of an image. */
export function textOfPart(part: ContentPart): string {
  switch (part.type) {
    case 'refusal':
      return part.refusal;
    case 'input_image':
      return '';
    case 'input_text':
    case 'output_text':
      return part.text;
  }
}
