/** The items that a conversation consists of in the Responses API, as they are kept and shown. */
import type { ChatTokenLogprob } from '../generation/logprobs-format.ts';
import type { JsonObject } from '../json-object.ts';

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

export type ContentPart =
  | { readonly type: 'input_text'; readonly text: string }
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
}

export interface FunctionCallItem {
  readonly id: string;
  readonly type: 'function_call';
  readonly status: ItemStatus;
  readonly call_id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

export interface FunctionCallOutputItem {
  readonly id: string;
  readonly type: 'function_call_output';
  readonly status: ItemStatus;
  readonly call_id: string;
  readonly output: string;
}

export interface ReasoningItem {
  readonly id: string;
  readonly type: 'reasoning';
  readonly status: ItemStatus;
  readonly summary: readonly JsonObject[];
  readonly content: readonly { readonly type: 'reasoning_text'; readonly text: string }[];
}

export type Item = MessageItem | FunctionCallItem | FunctionCallOutputItem | ReasoningItem;

/** What the model may add to a conversation. */
export type OutputItem = MessageItem | FunctionCallItem | ReasoningItem;

/** The text of a message's parts, one after the other. */
export function textOf(message: MessageItem): string {
  return message.content
    .map((part) => (part.type === 'refusal' ? part.refusal : part.text))
    .join('');
}
