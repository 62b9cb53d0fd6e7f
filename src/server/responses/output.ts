/** Sorts what the model says into output items: one grows at a time. */
import { type ChatDelta, isStreamed, type StreamedPart } from '../../front/chat/chat-delta.ts';
import type { AnswerLogprobs, ChatTokenLogprob } from '../generation/logprobs-format.ts';
import type { CompactionItem, ItemStatus, OutputItem } from './items.ts';
import {
  GrowingCall,
  GrowingCustomCall,
  GrowingMessage,
  GrowingReasoning,
  type EventFields,
  type ItemPlace,
} from './output-items.ts';
import type { SealedTexts } from './sealed-texts.ts';
import type { CallableTools } from './tools.ts';

type Growing = GrowingMessage | GrowingReasoning | GrowingCall | GrowingCustomCall;

export interface OutputOptions {
  readonly logprobs: AnswerLogprobs | null;
  readonly tools: CallableTools['known'];
  /** Null unless the client wants to send thoughts back. */
  readonly seal: SealedTexts | null;
}

export class Output {
  readonly #answerId: string;
  readonly #options: OutputOptions;
  readonly #closed: OutputItem[] = [];
  #growing: Growing | null = null;
  /** Log-probabilities of tokens of which it is not known yet whether they are a message's. */
  #heldLogprobs: ChatTokenLogprob[] = [];

  /** @param answerId part of the items' ids: the same on every server that sends the answer */
  constructor(answerId: string, options: OutputOptions) {
    this.#answerId = answerId;
    this.#options = options;
  }

  /** A summary, before anything that the model says. */
  begin(sealed: string): EventFields[] {
    const { id, index } = this.#place('cmp_');
    const item: CompactionItem = { id, type: 'compaction', encrypted_content: sealed };
    this.#closed.push(item);
    return [
      { type: 'response.output_item.added', output_index: index, item },
      { type: 'response.output_item.done', output_index: index, item },
    ];
  }

  push(delta: ChatDelta): EventFields[] {
    this.#heldLogprobs.push(...this.#toLogprobs(delta));
    const events: EventFields[] = [];
    for (const part of delta.parts) {
      if (isStreamed(part)) events.push(...this.#grow(part));
    }
    // Those of a message's tokens come also while its text is held back.
    if (this.#heldLogprobs.length > 0 && this.#growing?.kind === 'message') {
      events.push(...this.#say(''));
    }
    return events;
  }

  /** Closes what still grows; an answer without anything becomes an empty message. */
  end(status: ItemStatus): EventFields[] {
    const isEmpty =
      this.#growing === null && this.#closed.every(({ type }) => type === 'compaction');
    return [
      ...(isEmpty ? this.#open(new GrowingMessage(this.#place('msg_'))) : []),
      ...this.#close(status),
    ];
  }

  /** @param status of the item that grows still */
  items(status: ItemStatus): OutputItem[] {
    if (this.#growing === null) return [...this.#closed];
    return [...this.#closed, this.#growing.item(status)];
  }

  #toLogprobs({ logprobs: entries = [] }: ChatDelta): ChatTokenLogprob[] {
    if (this.#options.logprobs === null) return [];
    const { format, numTop } = this.#options.logprobs;
    const shown = entries.filter(({ isShown }) => isShown);
    return [...format.chat(shown, numTop)];
  }

  #grow(part: StreamedPart): EventFields[] {
    if (part.type !== 'content') this.#heldLogprobs = [];
    switch (part.type) {
      case 'content':
        return this.#say(part.text);
      case 'reasoning':
        return this.#reason(part.text);
      case 'call':
        return this.#call(part.id, part.name);
      case 'arguments': {
        const growing = this.#growing;
        const isCall = growing?.kind === 'function_call' || growing?.kind === 'custom_tool_call';
        return isCall ? growing.grow(part.text) : [];
      }
    }
  }

  #call(callId: string, name: string): EventFields[] {
    const tool = this.#options.tools.get(name) ?? { type: 'function', name, namespace: null };
    return this.#open(
      tool.type === 'custom'
        ? new GrowingCustomCall(this.#place('ctc_'), callId, tool)
        : new GrowingCall(this.#place('fc_'), callId, tool),
    );
  }

  #say(text: string): EventFields[] {
    const logprobs = this.#heldLogprobs;
    this.#heldLogprobs = [];
    const events: EventFields[] = [];
    let message = this.#growing;
    if (message?.kind !== 'message') {
      message = new GrowingMessage(this.#place('msg_'));
      events.push(...this.#open(message));
    }
    return [...events, ...message.grow(text, logprobs)];
  }

  #reason(text: string): EventFields[] {
    const events: EventFields[] = [];
    let reasoning = this.#growing;
    if (reasoning?.kind !== 'reasoning') {
      reasoning = new GrowingReasoning(this.#place('rs_'), this.#options.seal);
      events.push(...this.#open(reasoning));
    }
    return [...events, ...reasoning.grow(text)];
  }

  /** Index and id of the next item. */
  #place(prefix: string): ItemPlace {
    const index = this.#closed.length + (this.#growing === null ? 0 : 1);
    return { index, id: `${prefix}${this.#answerId}${index}` };
  }

  #open(item: Growing): EventFields[] {
    const closing = this.#close('completed');
    this.#growing = item;
    return [...closing, ...item.open()];
  }

  #close(status: ItemStatus): EventFields[] {
    const growing = this.#growing;
    if (growing === null) return [];
    this.#growing = null;
    this.#closed.push(growing.item(status));
    return growing.close(status);
  }
}
