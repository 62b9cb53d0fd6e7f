/** The answers of /v1/messages: a message in one piece, or the events that it grows by. */
import { parseBoundedJson } from '../../front/json-bounds.ts';
import type { JsonObject } from '../openai/answer.ts';
import type { ChatDelta, ChatUsage, ToolCallDelta } from '../openai/chat-run.ts';

export type MessageEvent = { readonly type: string } & JsonObject;

type OpenBlock =
  | { readonly type: 'text'; text: string }
  | { readonly type: 'thinking'; thinking: string }
  | {
      readonly type: 'tool_use';
      readonly callIndex: number;
      readonly id: string;
      readonly name: string;
      json: string;
    };

/** Sorts what the model says into content blocks: one grows at a time. */
export class MessageAnswer {
  readonly #id: string;
  readonly #model: string;
  readonly #numPromptTokens: number;
  readonly #blocks: OpenBlock[] = [];
  #stopReason: string | null = null;
  #stopSequence: string | null = null;
  #usage: ChatUsage | null = null;
  #hasPinged = false;

  constructor(id: string, model: string, numPromptTokens: number) {
    this.#id = id;
    this.#model = model;
    this.#numPromptTokens = numPromptTokens;
  }

  start(): MessageEvent[] {
    return [{ type: 'message_start', message: this.message() }];
  }

  push(delta: ChatDelta): MessageEvent[] {
    const events: MessageEvent[] = [];
    if (delta.reasoning !== '') events.push(...this.#think(delta.reasoning));
    if (delta.content !== '') events.push(...this.#say(delta.content));
    for (const call of delta.toolCalls) events.push(...this.#call(call));
    if (delta.finishReason !== null) {
      this.#stopSequence = typeof delta.stopReason === 'string' ? delta.stopReason : null;
      this.#stopReason = toStopReason(delta.finishReason, this.#stopSequence);
    }
    this.#usage ??= delta.usage;
    return events;
  }

  end(): MessageEvent[] {
    // Clients expect a text, if an empty one.
    const opening = this.#blocks.length === 0 ? this.#open({ type: 'text', text: '' }) : [];
    return [
      ...opening,
      ...this.#close(),
      {
        type: 'message_delta',
        delta: { stop_reason: this.#stopReason, stop_sequence: this.#stopSequence },
        usage: this.#toUsage(),
      },
      { type: 'message_stop' },
    ];
  }

  /** The message as far as it has come. */
  message(): JsonObject {
    return {
      id: this.#id,
      type: 'message',
      role: 'assistant',
      model: this.#model,
      content: this.#blocks.map(toContent),
      stop_reason: this.#stopReason,
      stop_sequence: this.#stopSequence,
      usage: this.#toUsage(),
    };
  }

  #say(text: string): MessageEvent[] {
    const events: MessageEvent[] = [];
    let block = this.#blocks.at(-1);
    if (block?.type !== 'text') {
      block = { type: 'text', text: '' };
      events.push(...this.#close(), ...this.#open(block));
    }
    block.text += text;
    return [...events, this.#delta({ type: 'text_delta', text })];
  }

  #think(thinking: string): MessageEvent[] {
    const events: MessageEvent[] = [];
    let block = this.#blocks.at(-1);
    if (block?.type !== 'thinking') {
      block = { type: 'thinking', thinking: '' };
      events.push(...this.#close(), ...this.#open(block));
    }
    block.thinking += thinking;
    return [...events, this.#delta({ type: 'thinking_delta', thinking })];
  }

  #call(delta: ToolCallDelta): MessageEvent[] {
    const events: MessageEvent[] = [];
    let block = this.#blocks.at(-1);
    if (block?.type !== 'tool_use' || block.callIndex !== delta.index) {
      block = {
        type: 'tool_use',
        callIndex: delta.index,
        id: delta.id ?? `toolu_${delta.index}`,
        name: delta.name ?? '',
        json: '',
      };
      events.push(...this.#close(), ...this.#open(block));
    }
    block.json += delta.arguments;
    if (delta.arguments === '') return events;
    return [...events, this.#delta({ type: 'input_json_delta', partial_json: delta.arguments })];
  }

  #open(block: OpenBlock): MessageEvent[] {
    this.#blocks.push(block);
    const events: MessageEvent[] = [
      {
        type: 'content_block_start',
        index: this.#blocks.length - 1,
        content_block: toContent(block),
      },
    ];
    if (!this.#hasPinged) events.push({ type: 'ping' });
    this.#hasPinged = true;
    return events;
  }

  #delta(delta: JsonObject): MessageEvent {
    return { type: 'content_block_delta', index: this.#blocks.length - 1, delta };
  }

  #close(): MessageEvent[] {
    if (this.#blocks.length === 0) return [];
    return [{ type: 'content_block_stop', index: this.#blocks.length - 1 }];
  }

  /** Cached tokens are not among the input tokens, as with Anthropic. */
  #toUsage(): JsonObject {
    const numCached = this.#usage?.numCachedTokens ?? 0;
    return {
      input_tokens: this.#numPromptTokens - numCached,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: numCached,
      output_tokens: this.#usage?.numOutputTokens ?? 0,
    };
  }
}

function toContent(block: OpenBlock): JsonObject {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'thinking':
      return { type: 'thinking', thinking: block.thinking, signature: '' };
    case 'tool_use':
      return { type: 'tool_use', id: block.id, name: block.name, input: toInput(block.json) };
  }
}

/** A call that was cut short has no object to show. */
function toInput(json: string): unknown {
  try {
    return parseBoundedJson(json);
  } catch {
    return {};
  }
}

function toStopReason(finishReason: string, stopSequence: string | null): string {
  if (finishReason === 'length') return 'max_tokens';
  if (finishReason === 'tool_calls') return 'tool_use';
  return stopSequence === null ? 'end_turn' : 'stop_sequence';
}
