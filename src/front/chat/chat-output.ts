/** Sorts a chat answer's text into thought, content and tool calls, as it grows. */
import type { ReasoningSplitter } from './reasoning.ts';
import { createCallId, type ToolCallFormat } from './tool-calls/formats.ts';
import { ToolCallParser, type ToolCallEvent } from './tool-calls/tool-call-parser.ts';

export type ChatOutputEvent = { readonly type: 'reasoning'; readonly text: string } | ToolCallEvent;

export interface ChatOutputOptions {
  /** Null when the model does not think aloud, or that is to be shown as it is. */
  readonly reasoning: ReasoningSplitter | null;
  /** Null when the answer can't hold tool calls. */
  readonly toolCalls: {
    readonly format: ToolCallFormat;
    readonly names: ReadonlySet<string>;
  } | null;
}

export class ChatOutputParser {
  readonly #reasoning: ReasoningSplitter | null;
  readonly #toolCalls: ToolCallParser | null;

  constructor({ reasoning, toolCalls }: ChatOutputOptions) {
    this.#reasoning = reasoning;
    this.#toolCalls = toolCalls && new ToolCallParser(toolCalls.format, toolCalls.names);
  }

  /** Whether a tool call is whole. */
  get hasToolCalls(): boolean {
    return (this.#toolCalls?.numWhole ?? 0) > 0;
  }

  push(text: string): ChatOutputEvent[] {
    if (text === '') return [];
    if (this.#reasoning === null) return this.#content(text);
    return this.#reasoning.push(text).flatMap((piece) => this.#sort(piece));
  }

  /** Ends the text. */
  flush(): ChatOutputEvent[] {
    const last = this.#reasoning?.flush().flatMap((piece) => this.#sort(piece)) ?? [];
    return [...last, ...(this.#toolCalls?.flush() ?? [])];
  }

  #sort(piece: { type: 'reasoning' | 'content'; text: string }): ChatOutputEvent[] {
    return piece.type === 'content' ? this.#content(piece.text) : [{ ...piece, type: 'reasoning' }];
  }

  #content(text: string): ChatOutputEvent[] {
    return this.#toolCalls?.push(text) ?? [{ type: 'content', text }];
  }
}

export interface ParsedToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

export interface ParsedChatOutput {
  readonly content: string;
  readonly reasoning: string;
  readonly toolCalls: readonly ParsedToolCall[];
}

/** The parts of a whole answer. A tool call that was cut short is content. */
export function parseChatOutput(text: string, options: ChatOutputOptions): ParsedChatOutput {
  const parser = new ChatOutputParser(options);
  let content = '';
  let reasoning = '';
  const toolCalls: { id: string; name: string; arguments: string }[] = [];
  for (const event of [...parser.push(text), ...parser.flush()]) {
    switch (event.type) {
      case 'content':
        content += event.text;
        break;
      case 'reasoning':
        reasoning += event.text;
        break;
      case 'call': {
        const id = options.toolCalls ? createCallId(options.toolCalls.format) : '';
        toolCalls.push({ id, name: event.name, arguments: '' });
        break;
      }
      case 'arguments': {
        const call = toolCalls.at(-1);
        if (call) call.arguments += event.text;
        break;
      }
      case 'broken':
        if (event.index !== null) toolCalls.pop();
        content += event.whole;
        break;
    }
  }
  return { content, reasoning, toolCalls };
}
