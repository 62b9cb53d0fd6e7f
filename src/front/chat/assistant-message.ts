/** A whole answer: what its deltas come to. */
import type { ChatDelta, ChatPart } from './chat-delta.ts';

export interface AnsweredToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

/** One choice's message. Of a tool call that was cut short, the arguments are as far as they came. */
export class AssistantMessage {
  #content = '';
  #reasoning = '';
  readonly #toolCalls: { id: string; name: string; arguments: string }[] = [];

  get content(): string {
    return this.#content;
  }

  get reasoning(): string {
    return this.#reasoning;
  }

  get toolCalls(): readonly AnsweredToolCall[] {
    return this.#toolCalls;
  }

  add({ parts }: Pick<ChatDelta, 'parts'>): void {
    for (const part of parts) this.#addPart(part);
  }

  #addPart(part: ChatPart): void {
    switch (part.type) {
      case 'content':
        this.#content += part.text;
        break;
      case 'reasoning':
        this.#reasoning += part.text;
        break;
      case 'call':
        this.#toolCalls.push({ id: part.id, name: part.name, arguments: '' });
        break;
      case 'arguments': {
        const call = this.#toolCalls.at(-1);
        if (call) call.arguments += part.text;
        break;
      }
      case 'cut':
        break;
      case 'broken':
        this.#toolCalls.pop();
        this.#content += part.text;
        break;
    }
  }
}
