/** Sorts the text of one choice into thought, content and tool calls, as it grows. */
import { type ChannelEvent, ChannelParser } from './channels.ts';
import type { ChatPart } from './chat-delta.ts';
import type { OutputFormat } from './output-format.ts';
import { ReasoningSplitter } from './reasoning.ts';
import { callId } from '../tool-calls/formats.ts';
import { ToolCallParser } from '../tool-calls/tool-call-parser.ts';

export class OutputParser {
  readonly #toolCalls: OutputFormat['toolCalls'];
  readonly #reasoning: ReasoningSplitter | null;
  readonly #parser: ToolCallParser | null;
  /** In place of the two, where thoughts and calls are messages alike. */
  readonly #channels: ChannelParser | null;
  readonly #choiceId: string;

  /** @param choiceId what ids of its tool calls are made of */
  constructor(
    { reasoning, toolCalls }: Pick<OutputFormat, 'reasoning' | 'toolCalls'>,
    choiceId: string,
  ) {
    this.#choiceId = choiceId;
    this.#toolCalls = toolCalls;
    const hasChannels = reasoning !== null && reasoning.format.next !== '';
    this.#channels = hasChannels ? new ChannelParser(toolCalls, reasoning.promptEnd) : null;
    this.#reasoning =
      reasoning === null || hasChannels
        ? null
        : new ReasoningSplitter(reasoning.format, reasoning.place);
    this.#parser =
      toolCalls === null || hasChannels
        ? null
        : new ToolCallParser(toolCalls.format.layout, toolCalls);
  }

  /** Whether a tool call is whole. */
  get hasToolCalls(): boolean {
    return (this.#channels?.numWhole ?? this.#parser?.numWhole ?? 0) > 0;
  }

  /**
   * Counts tokens of the thought, and those that could not be told before; null without thoughts.
   * @param textOffsets where the tokens of the last text begin
   */
  countReasoning(textOffsets: readonly number[]): number | null {
    return (this.#channels ?? this.#reasoning)?.countTokens(textOffsets) ?? null;
  }

  push(text: string): ChatPart[] {
    if (text === '') return [];
    if (this.#channels !== null) return this.#toParts(this.#channels.push(text));
    if (this.#reasoning === null || this.#reasoning.isOver) return this.#content(text);
    return this.#reasoning.push(text).flatMap((piece) => this.#sort(piece));
  }

  /** Ends the text. @param isCut by the limit of tokens, and not by the model */
  flush(isCut: boolean): ChatPart[] {
    if (this.#channels !== null) return this.#toParts(this.#channels.flush(isCut));
    const last = this.#reasoning?.flush().flatMap((piece) => this.#sort(piece)) ?? [];
    return [...last, ...this.#toParts(this.#parser?.flush(isCut) ?? [])];
  }

  #sort(piece: { type: 'reasoning' | 'content'; text: string }): ChatPart[] {
    return piece.type === 'content' ? this.#content(piece.text) : [piece];
  }

  #content(text: string): ChatPart[] {
    return this.#parser === null
      ? [{ type: 'content', text }]
      : this.#toParts(this.#parser.push(text));
  }

  #toParts(events: readonly ChannelEvent[]): ChatPart[] {
    return events.flatMap((event) => this.#toPart(event));
  }

  #toPart(event: ChannelEvent): ChatPart | ChatPart[] {
    switch (event.type) {
      case 'content':
      case 'reasoning':
      case 'arguments':
        return event;
      case 'call': {
        const { index, name } = event;
        const id = this.#toolCalls
          ? callId(this.#toolCalls.format, this.#choiceId, index, name)
          : '';
        return { ...event, id };
      }
      case 'cut':
        return { type: 'cut', text: event.whole };
      case 'broken': {
        const { index, whole, rest } = event;
        const shown = whole.slice(0, whole.length - rest.length);
        const broken: ChatPart[] = index === null ? [] : [{ type: 'broken', text: shown }];
        return rest === '' ? broken : [...broken, { type: 'content', text: rest }];
      }
    }
  }
}
