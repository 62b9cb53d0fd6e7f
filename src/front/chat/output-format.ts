/** What a chat's answer may hold besides text, and the grammar that sees to it. */
import { grammarJsonFault } from '../../grammar/grammar-json.ts';
import type { GrammarSource, ToolDefinition } from '../../grammar/grammar-source.ts';
import { InvalidRequestError } from '../invalid-request.ts';
import type { ChatFormat } from './chat-format.ts';
import type { ChatRequest, ToolChoice } from './chat-request.ts';
import { opensThinking } from './reasoning.ts';
import type { ToolCallFormat } from './tool-calls/formats.ts';

export interface OutputFormat {
  /** Null when the text is free. */
  readonly grammar: GrammarSource | null;
  /** How thoughts are told from what is said; null when the model does not think aloud. */
  readonly reasoning: {
    /** The prompt has opened the thought already. */
    readonly isOpen: boolean;
  } | null;
  /** Null when the answer can't hold tool calls. */
  readonly toolCalls: {
    readonly format: ToolCallFormat;
    readonly names: ReadonlySet<string>;
  } | null;
}

type OutputRequest = Pick<
  ChatRequest,
  'tools' | 'toolChoice' | 'parallelToolCalls' | 'responseFormat'
>;

/**
 * @param prompt the rendered chat
 * @throws InvalidRequestError when tools and their choice don't go together, or when this model's
 *   tool calls are not known.
 */
export function outputFormatOf(
  chatFormat: ChatFormat,
  { tools, toolChoice, parallelToolCalls, responseFormat }: OutputRequest,
  prompt: string,
): OutputFormat {
  const required = requiredTools(tools, toolChoice);
  const format = chatFormat.toolCalls;
  const isParallel = parallelToolCalls && toolChoice === 'required';
  const grammar =
    required === null ? responseFormat : toolGrammar(requireFormat(format), required, isParallel);
  const mayCall = format !== null && tools.length > 0 && toolChoice !== 'none';
  const isOpen = opensThinking(prompt);
  const thinks = chatFormat.reasoning && !prompt.trimEnd().endsWith('</think>');
  return {
    grammar: grammar !== null && thinks ? afterThought(grammar, isOpen) : grammar,
    reasoning: thinks ? { isOpen } : null,
    toolCalls: mayCall ? { format, names: new Set(tools.map((tool) => tool.function.name)) } : null,
  };
}

/** The tools of which one must be called; null when none has to. */
function requiredTools(
  tools: readonly ToolDefinition[],
  choice: ToolChoice,
): readonly ToolDefinition[] | null {
  if (choice === 'none' || choice === 'auto') return null;
  if (tools.length === 0) {
    const message = '`tool_choice` asks for a call, but there are no `tools`.';
    throw new InvalidRequestError(message, 'tool_choice');
  }
  if (choice === 'required') return tools;
  const named = tools.filter((tool) => tool.function.name === choice.name);
  if (named.length > 0) return named.slice(0, 1);
  throw new InvalidRequestError(
    `\`tool_choice\` names \`${choice.name.slice(0, 100)}\`, which is not among the \`tools\`.`,
    'tool_choice',
    'invalid_value',
  );
}

function toolGrammar(
  layout: ToolCallFormat,
  tools: readonly ToolDefinition[],
  parallel: boolean,
): GrammarSource {
  const fault = grammarJsonFault(tools.map((tool) => tool.function));
  if (fault !== null) {
    throw new InvalidRequestError(`\`tools\`: ${fault}.`, 'tools', 'invalid_value');
  }
  // What the grammar needs of them, and nothing else, crosses to its thread.
  const { open, openIsOptional, list, argumentsKey } = layout;
  const functions = tools.map(({ function: { name, parameters } }) => ({
    function: { name, parameters: parameters ?? undefined },
  }));
  return {
    field: 'tools',
    form: {
      kind: 'tools',
      layout: { open, openIsOptional, list, argumentsKey },
      tools: functions,
      parallel,
    },
  };
}

function requireFormat(format: ToolCallFormat | null): ToolCallFormat {
  if (format !== null) return format;
  throw new InvalidRequestError(
    "This model's chat template shows no format of tool calls that is known here, so that a call " +
      'can not be enforced; see --tool-call-parser.',
    'tool_choice',
    'unsupported_parameter',
  );
}

function afterThought(source: GrammarSource, isOpen: boolean): GrammarSource {
  return { ...source, thought: isOpen ? 'open' : 'optional' };
}
