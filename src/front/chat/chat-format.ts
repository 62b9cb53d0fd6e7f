/** How a model writes what is not plain content: tool calls and thoughts. */
import type { ThoughtMarks } from '../../engine/request.ts';
import {
  detectReasoningFormat,
  type ReasoningFormat,
  reasoningFormatNamed,
} from './reasoning-formats.ts';
import {
  detectToolCallFormat,
  HERMES_FORMAT,
  type ToolCallFormat,
  toolCallFormatNamed,
} from '../tool-calls/formats.ts';

export interface ChatFormat {
  /** Null when they are not looked for. */
  readonly toolCalls: ToolCallFormat | null;
  /** How it marks its thoughts; null when they are not looked for. */
  readonly reasoning: ReasoningFormat | null;
  /** For the engine; null or left out where it cannot end thoughts. */
  readonly thoughtMarks?: ThoughtMarks | null;
  /** Tokens that are thought where a request does not say; null or left out for any number. */
  readonly reasoningBudget?: number | null;
}

export const PLAIN_CHAT: ChatFormat = { toolCalls: null, reasoning: null };

/** Names of formats, `auto` or `none`. */
export interface ChatFormatOptions {
  readonly toolCallParser: string;
  readonly reasoningParser: string;
}

/**
 * Models whose template shows no format of calls that is known write them in that of Hermes: their
 * prompts say so where the template leaves tools out (tools-as-text.ts), and grammars see to it.
 * @param template the text of the chat template, which shows the model's formats; '' without one
 */
export function chatFormatOf(template: string, options: ChatFormatOptions): ChatFormat {
  const { toolCallParser, reasoningParser } = options;
  const toolCalls = toolCallFormat(template, toolCallParser);
  // Calls of Harmony are messages in channels, as thoughts are.
  const needed = toolCalls?.names.includes('openai') === true ? 'openai_gptoss' : reasoningParser;
  return { toolCalls, reasoning: reasoningFormat(template, needed) };
}

function toolCallFormat(template: string, parser: string): ToolCallFormat | null {
  if (parser === 'none') return null;
  if (parser !== 'auto') return toolCallFormatNamed(parser, template);
  return template === '' ? null : (detectToolCallFormat(template) ?? HERMES_FORMAT);
}

function reasoningFormat(template: string, parser: string): ReasoningFormat | null {
  if (parser === 'none') return null;
  return parser === 'auto' ? detectReasoningFormat(template) : reasoningFormatNamed(parser);
}
