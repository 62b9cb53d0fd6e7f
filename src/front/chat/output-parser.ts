/** Sorts the text of one choice into thought, content and tool calls, as it grows. */
import type { ChatPart } from './chat-delta.ts';
import type { OutputFormat } from './output-format.ts';
import { ReasoningSplitter } from './reasoning.ts';
import { callId } from './tool-calls/formats.ts';
import { ToolCallParser, type ToolCallEvent } from './tool-calls/tool-call-parser.ts';

export class OutputParser {
  readonly #toolCalls: OutputFormat['toolCalls'];
  readonly #reasoning: ReasoningSplitter | null;
  readonly #parser: ToolCallParser | null;
  readonly #choiceId: string;

  /** @param choiceId what ids of its tool calls are made of */
  constructor(
    { reasoning, toolCalls }: Pick<OutputFormat, 'reasoning' | 'toolCalls'>,
    choiceId: string,
  ) {
    this.#choiceId = choiceId;
    this.#toolCalls = toolCalls;
    this.#reasoning = reasoning && new ReasoningSplitter(reasoning.isOpen);
    this.#parser = toolCalls && new ToolCallParser(toolCalls.format, toolCalls.names);
  }

  /** Whether a tool call is whole. */
  get hasToolCalls(): boolean {
    return (this.#parser?.numWhole ?? 0) > 0;
  }

  /**
   * Counts tokens of the thought, and those that could not be told before; null without thoughts.
   * @param textOffsets where the tokens of the last text begin
   */
  countReasoning(textOffsets: readonly number[]): number | null {
    return this.#reasoning?.countTokens(textOffsets) ?? null;
  }

  push(text: string): ChatPart[] {
    if (text === '') return [];
    if (this.#reasoning === null || this.#reasoning.isOver) return this.#content(text);
    return this.#reasoning.push(text).flatMap((piece) => this.#sort(piece));
  }

  /** Ends the text. */
  flush(): ChatPart[] {
    const last = this.#reasoning?.flush().flatMap((piece) => this.#sort(piece)) ?? [];
    return [...last, ...this.#toParts(this.#parser?.flush() ?? [])];
  }

  #sort(piece: { type: 'reasoning' | 'content'; text: string }): ChatPart[] {
    return piece.type === 'content' ? this.#content(piece.text) : [piece];
  }

  #content(text: string): ChatPart[] {
    return this.#parser === null
      ? [{ type: 'content', text }]
      : this.#toParts(this.#parser.push(text));
  }

  #toParts(events: readonly ToolCallEvent[]): ChatPart[] {
    return events.flatMap((event) => this.#toPart(event));
  }

  #toPart(event: ToolCallEvent): ChatPart | ChatPart[] {
    switch (event.type) {
      case 'content':
      case 'arguments':
        return event;
      case 'call': {
        const of = `${this.#choiceId} ${event.index}`;
        return { ...event, id: this.#toolCalls ? callId(this.#toolCalls.format, of) : '' };
      }
      case 'broken': {
        const { index, whole, rest } = event;
        const shown = whole.slice(0, whole.length - rest.length);
        const broken: ChatPart[] = index === null ? [] : [{ type: 'broken', text: shown }];
        return rest === '' ? broken : [...broken, { type: 'content', text: rest }];
      }
    }
  }
}
