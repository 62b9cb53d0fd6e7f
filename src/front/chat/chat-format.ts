/** How a model writes what is not plain content: tool calls and thoughts. */
import { knowsThinking } from './reasoning.ts';
import {
  detectToolCallFormat,
  TOOL_CALL_FORMATS,
  type ToolCallFormat,
  type ToolCallFormatName,
} from './tool-calls/formats.ts';

export interface ChatFormat {
  /** Null when the model has none that is known. */
  readonly toolCalls: ToolCallFormat | null;
  /** It may think aloud, between `<think>` and `</think>`. */
  readonly reasoning: boolean;
}

export const PLAIN_CHAT: ChatFormat = { toolCalls: null, reasoning: false };

export interface ChatFormatOptions {
  readonly toolCallParser: ToolCallFormatName | 'auto' | 'none';
  readonly reasoningParser: 'think' | 'auto' | 'none';
}

/** @param template the text of the chat template, which shows the model's formats */
export function chatFormatOf(template: string, options: ChatFormatOptions): ChatFormat {
  const { toolCallParser, reasoningParser } = options;
  return {
    toolCalls: toolCallFormat(template, toolCallParser),
    reasoning:
      reasoningParser === 'think' || (reasoningParser === 'auto' && knowsThinking(template)),
  };
}

function toolCallFormat(
  template: string,
  parser: ChatFormatOptions['toolCallParser'],
): ToolCallFormat | null {
  if (parser === 'none') return null;
  return parser === 'auto' ? detectToolCallFormat(template) : TOOL_CALL_FORMATS[parser];
}
