/** Makes the deltas of one chat's answer out of its text, choice by choice. */
import type { GenerationDelta } from '../generation/generation.ts';
import type { ChatDelta, ChatFinishReason, ChatPart } from './chat-delta.ts';
import type { OutputFormat } from './output-format.ts';
import { OutputParser } from './output-parser.ts';

export class ChatDeltas {
  readonly #format: OutputFormat;
  readonly #answerId: string;
  /** By choice, of those that have begun; null where the text is content and nothing else. */
  readonly #parsers = new Map<number, OutputParser | null>();

  /** @param answerId what ids of tool calls are made of: the same on every server that tells the answer */
  constructor(format: OutputFormat, answerId: string) {
    this.#format = format;
    this.#answerId = answerId;
  }

  push(delta: GenerationDelta): ChatDelta {
    const { choice = 0, text, textOffsets = [], finishReason } = delta;
    let parser = this.#parsers.get(choice);
    const isFirst = parser === undefined;
    if (parser === undefined) {
      parser = this.#createParser(choice);
      this.#parsers.set(choice, parser);
    }
    // Field by field: to spread what is left over of an object takes microseconds for each token.
    return {
      choice,
      isFirst,
      parts: partsOf(parser, text, finishReason),
      finishReason: toFinishReason(parser, finishReason),
      stopReason: delta.stopReason,
      tokenIds: delta.tokenIds,
      numSpentTokens: delta.numSpentTokens,
      logprobs: delta.logprobs,
      promptLogprobs: delta.promptLogprobs,
      numCachedTokens: delta.numCachedTokens,
      numReasoningTokens: parser?.countReasoning(textOffsets) ?? null,
    };
  }

  #createParser(choice: number): OutputParser | null {
    const { reasoning, toolCalls } = this.#format;
    if (reasoning === null && toolCalls === null) return null;
    return new OutputParser(this.#format, `${this.#answerId} ${choice}`);
  }
}

function partsOf(
  parser: OutputParser | null,
  text: string,
  finishReason: GenerationDelta['finishReason'],
): ChatPart[] {
  if (parser === null) return text === '' ? [] : [{ type: 'content', text }];
  const parts = parser.push(text);
  if (finishReason !== null) parts.push(...parser.flush(finishReason === 'length'));
  return parts;
}

/** After the last text. */
function toFinishReason(
  parser: OutputParser | null,
  reason: 'stop' | 'length' | null,
): ChatFinishReason | null {
  return reason === 'stop' && parser?.hasToolCalls === true ? 'tool_calls' : reason;
}
