/** Makes the deltas of one chat's answer out of its text, choice by choice. */
import type { GenerationDelta } from '../generation/generation.ts';
import type { ChatDelta, ChatFinishReason, ChatPart } from './chat-delta.ts';
import type { OutputFormat } from './output-format.ts';
import { OutputParser } from './output-parser.ts';

export class ChatDeltas {
  readonly #format: OutputFormat;
  /** By choice, of those that have begun; null where the text is content and nothing else. */
  readonly #parsers = new Map<number, OutputParser | null>();

  constructor(format: OutputFormat) {
    this.#format = format;
  }

  push(delta: GenerationDelta): ChatDelta {
    const { choice = 0, text, textOffsets = [], finishReason } = delta;
    let parser = this.#parsers.get(choice);
    const isFirst = parser === undefined;
    if (parser === undefined) {
      parser = this.#createParser();
      this.#parsers.set(choice, parser);
    }
    // Field by field: to spread what is left over of an object takes microseconds for each token.
    return {
      choice,
      isFirst,
      parts: partsOf(parser, text, finishReason !== null),
      finishReason: toFinishReason(parser, finishReason),
      stopReason: delta.stopReason,
      tokenIds: delta.tokenIds,
      logprobs: delta.logprobs,
      promptLogprobs: delta.promptLogprobs,
      numCachedTokens: delta.numCachedTokens,
      numReasoningTokens: parser?.countReasoning(textOffsets) ?? null,
    };
  }

  #createParser(): OutputParser | null {
    const { reasoning, toolCalls } = this.#format;
    return reasoning === null && toolCalls === null ? null : new OutputParser(this.#format);
  }
}

function partsOf(parser: OutputParser | null, text: string, isLast: boolean): ChatPart[] {
  if (parser === null) return text === '' ? [] : [{ type: 'content', text }];
  const parts = parser.push(text);
  if (isLast) parts.push(...parser.flush());
  return parts;
}

/** After the last text. */
function toFinishReason(
  parser: OutputParser | null,
  reason: 'stop' | 'length' | null,
): ChatFinishReason | null {
  return reason === 'stop' && parser?.hasToolCalls === true ? 'tool_calls' : reason;
}
