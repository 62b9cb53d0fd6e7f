/** Output items as they grow, each with the events that tell of it. */
import type { ChatTokenLogprob } from '../generation/logprobs-format.ts';
import type { JsonObject } from '../json-object.ts';
import type {
  ContentPart,
  FunctionCallItem,
  ItemStatus,
  MessageItem,
  OutputItem,
  ReasoningItem,
} from './items.ts';

/** An event before it is numbered. */
export type EventFields = { readonly type: string } & JsonObject;

/** Which item of an answer it is. */
export interface ItemPlace {
  readonly id: string;
  readonly index: number;
}

/** Something the model is saying: opened, grown piece by piece, and closed, each exactly in that order. */
export interface GrowingItem {
  open(): EventFields[];
  close(status: ItemStatus): EventFields[];
  item(status: ItemStatus): OutputItem;
}

/** A message, or the text of one part of it. */
export class GrowingMessage implements GrowingItem {
  readonly kind = 'message';
  readonly #id: string;
  readonly #outputIndex: number;
  readonly #logprobs: ChatTokenLogprob[] = [];
  #text = '';

  constructor({ id, index }: ItemPlace) {
    this.#id = id;
    this.#outputIndex = index;
  }

  open(): EventFields[] {
    const item = { ...this.item('in_progress'), content: [] };
    return [
      { type: 'response.output_item.added', output_index: this.#outputIndex, item },
      { type: 'response.content_part.added', ...this.#place(), part: toOutputText('', []) },
    ];
  }

  grow(delta: string, logprobs: readonly ChatTokenLogprob[]): EventFields[] {
    this.#text += delta;
    this.#logprobs.push(...logprobs);
    return [{ type: 'response.output_text.delta', ...this.#place(), delta, logprobs }];
  }

  close(status: ItemStatus): EventFields[] {
    const place = this.#place();
    const text = this.#text;
    const logprobs = this.#logprobs;
    return [
      { type: 'response.output_text.done', ...place, text, logprobs },
      { type: 'response.content_part.done', ...place, part: toOutputText(text, logprobs) },
      {
        type: 'response.output_item.done',
        output_index: this.#outputIndex,
        item: this.item(status),
      },
    ];
  }

  item(status: ItemStatus): MessageItem {
    return {
      id: this.#id,
      type: 'message',
      status,
      role: 'assistant',
      content: [toOutputText(this.#text, this.#logprobs)],
    };
  }

  #place(): JsonObject {
    return { item_id: this.#id, output_index: this.#outputIndex, content_index: 0 };
  }
}

export class GrowingReasoning implements GrowingItem {
  readonly kind = 'reasoning';
  readonly #id: string;
  readonly #outputIndex: number;
  #text = '';

  constructor({ id, index }: ItemPlace) {
    this.#id = id;
    this.#outputIndex = index;
  }

  open(): EventFields[] {
    const item = { ...this.item('in_progress'), content: [] };
    return [
      { type: 'response.output_item.added', output_index: this.#outputIndex, item },
      {
        type: 'response.content_part.added',
        ...this.#place(),
        part: { type: 'reasoning_text', text: '' },
      },
    ];
  }

  grow(delta: string): EventFields[] {
    this.#text += delta;
    return [{ type: 'response.reasoning_text.delta', ...this.#place(), delta }];
  }

  close(status: ItemStatus): EventFields[] {
    const place = this.#place();
    const text = this.#text;
    return [
      { type: 'response.reasoning_text.done', ...place, text },
      { type: 'response.content_part.done', ...place, part: { type: 'reasoning_text', text } },
      {
        type: 'response.output_item.done',
        output_index: this.#outputIndex,
        item: this.item(status),
      },
    ];
  }

  item(status: ItemStatus): ReasoningItem {
    return {
      id: this.#id,
      type: 'reasoning',
      status,
      summary: [],
      content: [{ type: 'reasoning_text', text: this.#text }],
    };
  }

  #place(): JsonObject {
    return { item_id: this.#id, output_index: this.#outputIndex, content_index: 0 };
  }
}

export class GrowingCall implements GrowingItem {
  readonly kind = 'function_call';
  readonly #id: string;
  readonly #outputIndex: number;
  readonly #callId: string;
  readonly #name: string;
  #arguments = '';

  constructor({ id, index }: ItemPlace, callId: string, name: string) {
    this.#id = id;
    this.#outputIndex = index;
    this.#callId = callId;
    this.#name = name;
  }

  open(): EventFields[] {
    return [
      {
        type: 'response.output_item.added',
        output_index: this.#outputIndex,
        item: this.item('in_progress'),
      },
    ];
  }

  grow(delta: string): EventFields[] {
    this.#arguments += delta;
    return [{ type: 'response.function_call_arguments.delta', ...this.#place(), delta }];
  }

  close(status: ItemStatus): EventFields[] {
    return [
      {
        type: 'response.function_call_arguments.done',
        ...this.#place(),
        name: this.#name,
        arguments: this.#arguments,
      },
      {
        type: 'response.output_item.done',
        output_index: this.#outputIndex,
        item: this.item(status),
      },
    ];
  }

  item(status: ItemStatus): FunctionCallItem {
    return {
      id: this.#id,
      type: 'function_call',
      status,
      call_id: this.#callId,
      name: this.#name,
      arguments: this.#arguments,
    };
  }

  #place(): JsonObject {
    return { item_id: this.#id, output_index: this.#outputIndex };
  }
}

function toOutputText(text: string, logprobs: readonly ChatTokenLogprob[]): ContentPart {
  return { type: 'output_text', text, annotations: [], logprobs: [...logprobs] };
}
