/** Sorts what the model says into output items: one grows at a time. */
import type { ChatDelta, ToolCallDelta } from '../openai/chat-run.ts';
import type { JsonObject } from '../openai/answer.ts';
import { createId, type ItemStatus, type OutputItem } from './items.ts';
import { GrowingCall, GrowingMessage, GrowingReasoning, type EventFields } from './output-items.ts';

export class Output {
  readonly #closed: OutputItem[] = [];
  #growing: GrowingMessage | GrowingReasoning | GrowingCall | null = null;

  push(delta: ChatDelta): EventFields[] {
    const events: EventFields[] = [];
    if (delta.reasoning !== '') events.push(...this.#reason(delta.reasoning));
    // A token's logprobs come also while its text is held back.
    if (delta.content !== '' || delta.logprobs.length > 0) {
      events.push(...this.#say(delta.content, delta.logprobs));
    }
    for (const call of delta.toolCalls) events.push(...this.#call(call));
    return events;
  }

  /** Closes what still grows; an answer without anything becomes an empty message. */
  end(status: ItemStatus): EventFields[] {
    const events =
      this.#growing === null && this.#closed.length === 0 ? this.#say('', []).slice(0, -1) : [];
    return [...events, ...this.#close(status)];
  }

  /** @param status of the item that grows still */
  items(status: ItemStatus): OutputItem[] {
    if (this.#growing === null) return [...this.#closed];
    return [...this.#closed, this.#growing.item(status)];
  }

  #say(text: string, logprobs: readonly JsonObject[]): EventFields[] {
    const events: EventFields[] = [];
    let message = this.#growing;
    if (message?.kind !== 'message') {
      events.push(...this.#close('completed'));
      message = new GrowingMessage(this.#closed.length);
      events.push(...this.#open(message));
    }
    return [...events, ...message.grow(text, logprobs.map(toTokenLogprob))];
  }

  #reason(text: string): EventFields[] {
    const events: EventFields[] = [];
    let reasoning = this.#growing;
    if (reasoning?.kind !== 'reasoning') {
      events.push(...this.#close('completed'));
      reasoning = new GrowingReasoning(this.#closed.length);
      events.push(...this.#open(reasoning));
    }
    return [...events, ...reasoning.grow(text)];
  }

  #call(delta: ToolCallDelta): EventFields[] {
    const events: EventFields[] = [];
    let call = this.#growing;
    if (call?.kind !== 'function_call' || call.callIndex !== delta.index) {
      events.push(...this.#close('completed'));
      const callId = delta.id ?? createId('call');
      call = new GrowingCall(this.#closed.length, delta.index, callId, delta.name ?? '');
      events.push(...this.#open(call));
    }
    return [...events, ...call.grow(delta.arguments)];
  }

  #open(item: GrowingMessage | GrowingReasoning | GrowingCall): EventFields[] {
    this.#growing = item;
    return item.open();
  }

  #close(status: ItemStatus): EventFields[] {
    const growing = this.#growing;
    if (growing === null) return [];
    this.#growing = null;
    this.#closed.push(growing.item(status));
    return growing.close(status);
  }
}

/** The fields that this API's logprobs have. */
function toTokenLogprob(entry: JsonObject): JsonObject {
  const { token, bytes, logprob, top_logprobs } = entry;
  return { token, bytes, logprob, top_logprobs: top_logprobs ?? [] };
}
