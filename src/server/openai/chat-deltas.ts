/** The `delta` objects that a choice's text becomes as it grows. */
import {
  ChatOutputParser,
  type ChatOutputEvent,
  type ChatOutputOptions,
} from '../../front/chat/chat-output.ts';
import { createCallId } from '../../front/chat/tool-calls/formats.ts';
import type { JsonObject } from './answer.ts';

export class ChatDeltas {
  readonly #options: ChatOutputOptions | null;
  readonly #parser: ChatOutputParser | null;

  /** @param options null when the text is content and nothing else */
  constructor(options: ChatOutputOptions | null) {
    this.#options = options;
    this.#parser = options && new ChatOutputParser(options);
  }

  /** @param isLast the text ends here */
  push(text: string, isLast: boolean): JsonObject[] {
    if (this.#parser === null) return text === '' ? [] : [{ content: text }];
    const events = this.#parser.push(text);
    if (isLast) events.push(...this.#parser.flush());
    return events.flatMap((event) => this.#toDelta(event));
  }

  /** After the last text. */
  finishReason(reason: 'stop' | 'length'): string {
    return reason === 'stop' && this.#parser?.hasToolCalls === true ? 'tool_calls' : reason;
  }

  #toDelta(event: ChatOutputEvent): JsonObject[] {
    switch (event.type) {
      case 'content':
        return [{ content: event.text }];
      case 'reasoning':
        return [{ reasoning_content: event.text }];
      case 'call':
        return [this.#opening(event.index, event.name)];
      case 'arguments':
        return [{ tool_calls: [{ index: event.index, function: { arguments: event.text } }] }];
      case 'broken':
        // What has been sent of it can't be taken back.
        return event.rest === '' ? [] : [{ content: event.rest }];
    }
  }

  #opening(index: number, name: string): JsonObject {
    const format = this.#options?.toolCalls?.format;
    const id = format ? createCallId(format) : '';
    return {
      tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }],
    };
  }
}
