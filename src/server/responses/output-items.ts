/** Output items as they grow, each with the events that tell of it. */
import type { ChatTokenLogprob } from '../generation/logprobs-format.ts';
import { textOfArguments } from '../../front/chat/custom-tools.ts';
import type { JsonObject } from '../json-object.ts';
import type {
  ContentPart,
  CustomCallItem,
  FunctionCallItem,
  ItemStatus,
  MessageItem,
  OutputItem,
  ReasoningItem,
} from './items.ts';
import type { SealedTexts } from './sealed-texts.ts';
import type { ClientTool } from './tools.ts';

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
  readonly #seal: SealedTexts | null;
  /** Made once: events and the response have the same. */
  #sealed: { readonly text: string; readonly as: string } | null = null;
  #text = '';

  /** @param seal null unless the client wants to send its thoughts back */
  constructor({ id, index }: ItemPlace, seal: SealedTexts | null) {
    this.#id = id;
    this.#outputIndex = index;
    this.#seal = seal;
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
      ...(this.#seal ? { encrypted_content: this.#sealedText(this.#seal) } : {}),
    };
  }

  #sealedText(seal: SealedTexts): string {
    const text = this.#text;
    if (this.#sealed?.text !== text) this.#sealed = { text, as: seal.seal(text) };
    return this.#sealed.as;
  }

  #place(): JsonObject {
    return { item_id: this.#id, output_index: this.#outputIndex, content_index: 0 };
  }
}

/** A call of a tool, whose arguments grow. */
abstract class GrowingToolCall {
  protected readonly callId: string;
  protected readonly tool: ClientTool;
  protected readonly place: { readonly item_id: string; readonly output_index: number };
  protected json = '';

  constructor({ id, index }: ItemPlace, callId: string, tool: ClientTool) {
    this.place = { item_id: id, output_index: index };
    this.callId = callId;
    this.tool = tool;
  }

  protected itemEvent(step: 'added' | 'done', item: OutputItem): EventFields {
    return {
      type: `response.output_item.${step}`,
      output_index: this.place.output_index,
      item,
    };
  }

  /** Fields that both kinds of calls have; `namespace` for a tool that is in one. */
  protected get fields() {
    const { name, namespace } = this.tool;
    return { call_id: this.callId, name, ...(namespace === null ? {} : { namespace }) };
  }
}

export class GrowingCall extends GrowingToolCall implements GrowingItem {
  readonly kind = 'function_call';

  open(): EventFields[] {
    return [this.itemEvent('added', this.item('in_progress'))];
  }

  grow(delta: string): EventFields[] {
    this.json += delta;
    return [{ type: 'response.function_call_arguments.delta', ...this.place, delta }];
  }

  close(status: ItemStatus): EventFields[] {
    return [
      {
        type: 'response.function_call_arguments.done',
        ...this.place,
        name: this.tool.name,
        arguments: this.json,
      },
      this.itemEvent('done', this.item(status)),
    ];
  }

  item(status: ItemStatus): FunctionCallItem {
    const id = this.place.item_id;
    return { id, type: this.kind, status, ...this.fields, arguments: this.json };
  }
}

/** A call of a custom tool, told as a whole: its text is known once its JSON has ended. */
export class GrowingCustomCall extends GrowingToolCall implements GrowingItem {
  readonly kind = 'custom_tool_call';

  open(): EventFields[] {
    return [this.itemEvent('added', { ...this.item('in_progress'), input: '' })];
  }

  grow(delta: string): EventFields[] {
    this.json += delta;
    return [];
  }

  close(status: ItemStatus): EventFields[] {
    const item = this.item(status);
    const { input } = item;
    return [
      { type: 'response.custom_tool_call_input.delta', ...this.place, delta: input },
      { type: 'response.custom_tool_call_input.done', ...this.place, input },
      this.itemEvent('done', item),
    ];
  }

  item(status: ItemStatus): CustomCallItem {
    const id = this.place.item_id;
    return { id, type: this.kind, status, ...this.fields, input: textOfArguments(this.json) };
  }
}

function toOutputText(text: string, logprobs: readonly ChatTokenLogprob[]): ContentPart {
  return { type: 'output_text', text, annotations: [], logprobs: [...logprobs] };
}
