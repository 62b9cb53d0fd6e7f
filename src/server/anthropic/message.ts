/** The answers of /v1/messages: a message in one piece, or the events that it grows by. */
import { type ChatDelta, isStreamed, type StreamedPart } from '../../front/chat/chat-delta.ts';
import type { FanOutRequest } from '../../front/generation/fan-out.ts';
import { UsageCounter } from '../../front/generation/token-usage.ts';
import { parseBoundedJson } from '../../front/json-bounds.ts';
import { warningsOf } from '../answers/skipped-tools.ts';
import { jsonWriter, type WrittenJson } from '../http/written-json.ts';
import type { JsonObject } from '../json-object.ts';

export type MessageEvent = ({ readonly type: string } & JsonObject) | WrittenJson;

const writeText = jsonWriter((index: number, text: string) => ({
  type: 'content_block_delta',
  index,
  delta: { type: 'text_delta', text },
}));
const writeThinking = jsonWriter((index: number, thinking: string) => ({
  type: 'content_block_delta',
  index,
  delta: { type: 'thinking_delta', thinking },
}));

type OpenBlock =
  | { readonly type: 'text'; text: string }
  | { readonly type: 'thinking'; thinking: string }
  | {
      readonly type: 'tool_use';
      readonly id: string;
      readonly name: string;
      json: string;
    };

export interface MessageHead {
  readonly id: string;
  readonly model: string;
  /** Types of tools that were left out. */
  readonly skipped: readonly string[];
}

/** Sorts what the model says into content blocks: one grows at a time. */
export class GrowingMessage {
  readonly #head: MessageHead;
  readonly #usage: UsageCounter;
  readonly #blocks: OpenBlock[] = [];
  #stopReason: string | null = null;
  #stopSequence: string | null = null;
  #hasPinged = false;

  constructor(head: MessageHead, generation: FanOutRequest) {
    this.#head = head;
    this.#usage = new UsageCounter(generation);
  }

  start(): MessageEvent[] {
    return [{ type: 'message_start', message: this.toJson() }];
  }

  push(delta: ChatDelta): MessageEvent[] {
    this.#usage.add(delta);
    const { finishReason, stopReason } = delta;
    if (finishReason !== null) {
      this.#stopSequence = typeof stopReason === 'string' ? stopReason : null;
      this.#stopReason = toStopReason(finishReason, this.#stopSequence);
    }
    return delta.parts.filter(isStreamed).flatMap((part) => this.#grow(part));
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
  toJson(): JsonObject {
    const { id, model, skipped } = this.#head;
    return {
      id,
      type: 'message',
      role: 'assistant',
      model,
      content: this.#blocks.map(toContent),
      stop_reason: this.#stopReason,
      stop_sequence: this.#stopSequence,
      usage: this.#toUsage(),
      ...(skipped.length > 0 ? { warnings: warningsOf(skipped) } : {}),
    };
  }

  #grow(part: StreamedPart): MessageEvent[] {
    switch (part.type) {
      case 'content':
        return this.#say(part.text);
      case 'reasoning':
        return this.#think(part.text);
      case 'call':
        return this.#openNext({ type: 'tool_use', id: part.id, name: part.name, json: '' });
      case 'arguments':
        return this.#addArguments(part.text);
    }
  }

  #say(text: string): MessageEvent[] {
    const events: MessageEvent[] = [];
    let block = this.#blocks.at(-1);
    if (block?.type !== 'text') {
      block = { type: 'text', text: '' };
      events.push(...this.#openNext(block));
    }
    block.text += text;
    events.push(writeText(this.#blocks.length - 1, text));
    return events;
  }

  #think(thinking: string): MessageEvent[] {
    const events: MessageEvent[] = [];
    let block = this.#blocks.at(-1);
    if (block?.type !== 'thinking') {
      block = { type: 'thinking', thinking: '' };
      events.push(...this.#openNext(block));
    }
    block.thinking += thinking;
    events.push(writeThinking(this.#blocks.length - 1, thinking));
    return events;
  }

  #addArguments(json: string): MessageEvent[] {
    const block = this.#blocks.at(-1);
    if (block?.type === 'tool_use') block.json += json;
    const delta = { type: 'input_json_delta', partial_json: json };
    return [{ type: 'content_block_delta', index: this.#blocks.length - 1, delta }];
  }

  #openNext(block: OpenBlock): MessageEvent[] {
    return [...this.#close(), ...this.#open(block)];
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

  #close(): MessageEvent[] {
    if (this.#blocks.length === 0) return [];
    return [{ type: 'content_block_stop', index: this.#blocks.length - 1 }];
  }

  /** Cached tokens are not among the input tokens, as with Anthropic. */
  #toUsage(): JsonObject {
    const { numPromptTokens, numCachedTokens, numOutputTokens } = this.#usage.usage;
    return {
      input_tokens: numPromptTokens - numCachedTokens,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: numCachedTokens,
      output_tokens: numOutputTokens,
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
