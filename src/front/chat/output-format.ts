/** Parts of a chat's answer besides text, and the grammar that enforces them. */
import { grammarJsonFault } from '../../grammar/grammar-json.ts';
import type { GrammarSource, TextGrammar, ToolDefinition } from '../../grammar/grammar-source.ts';
import { InvalidRequestError } from '../invalid-request.ts';
import type { ChatFormat } from './chat-format.ts';
import type { ChatRequest, ToolChoice } from './chat-request.ts';
import {
  placeAfter,
  type ReasoningFormat,
  thoughtLayout,
  type ThoughtPlace,
} from './reasoning-formats.ts';
import type { ToolCallFormat } from '../tool-calls/formats.ts';
import type { CallableTools } from '../tool-calls/tool-call-parser.ts';
import { told } from '../../told.ts';

export interface OutputFormat {
  /** Null when the text is free. */
  readonly grammar: GrammarSource | null;
  /** How thoughts are told from what is said; null when the model does not think aloud. */
  readonly reasoning: {
    readonly format: ReasoningFormat;
    /** Where the prompt has left the text. */
    readonly place: ThoughtPlace;
    /** The last of the prompt. */
    readonly promptEnd: string;
  } | null;
  /** Null when the answer can't hold tool calls. */
  readonly toolCalls: (CallableTools & { readonly format: ToolCallFormat }) | null;
}

/** In UTF-16 units. */
const MAX_PROMPT_END = 64;

type OutputRequest = Pick<
  ChatRequest,
  'tools' | 'toolChoice' | 'withheldTools' | 'parallelToolCalls' | 'textGrammars' | 'responseFormat'
>;

type TextGrammars = NonNullable<OutputRequest['textGrammars']>;

/**
 * @param prompt the rendered chat
 * @throws InvalidRequestError when tools and their choice don't go together, or when this model's
 *   tool calls are not known.
 */
export function outputFormatOf(
  chatFormat: ChatFormat,
  request: OutputRequest,
  prompt: string,
): OutputFormat {
  const { tools, toolChoice, withheldTools, parallelToolCalls, responseFormat } = request;
  const texts: TextGrammars = request.textGrammars ?? new Map();
  const required = requiredTools(tools, toolChoice);
  const format = chatFormat.toolCalls;
  const mayCall = format !== null && tools.length > 0 && toolChoice !== 'none';
  const isStrict =
    mayCall && tools.some(({ function: { name, strict } }) => strict === true || texts.has(name));
  const free =
    responseFormat ??
    (isStrict ? toolGrammar(format, tools, texts, parallelToolCalls, false) : null);
  const isParallel = parallelToolCalls && toolChoice === 'required';
  const grammar =
    required === null
      ? free
      : toolGrammar(requireFormat(format), required, texts, isParallel, true);
  const { reasoning } = chatFormat;
  const place = reasoning && placeAfter(reasoning, prompt);
  // A prompt that has ended the thought leaves nothing to be told, unless answers are marked.
  const isSplit = reasoning !== null && (place !== 'after' || reasoning.answer.open !== '');
  const known = new Map(tools.map(({ function: each }) => [each.name, each.parameters]));
  return {
    grammar:
      grammar !== null && reasoning !== null && place !== null && place !== 'after'
        ? { ...grammar, thought: thoughtLayout(reasoning, place) }
        : grammar,
    reasoning:
      isSplit && place !== null
        ? { format: reasoning, place, promptEnd: prompt.slice(-MAX_PROMPT_END) }
        : null,
    toolCalls: mayCall ? { format, known, withheld: withheldTools ?? new Set() } : null,
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
    `\`tool_choice\` names \`${told(choice.name, 100)}\`, which is not among the \`tools\`.`,
    'tool_choice',
    'invalid_value',
  );
}

function toolGrammar(
  { layout }: ToolCallFormat,
  tools: readonly ToolDefinition[],
  texts: TextGrammars,
  parallel: boolean,
  isRequired: boolean,
): GrammarSource {
  const used = tools.flatMap(({ function: { name } }) => texts.get(name) ?? []);
  const fault = grammarJsonFault([used, ...tools.map((tool) => tool.function)]);
  if (fault !== null) {
    throw new InvalidRequestError(`\`tools\`: ${fault}.`, 'tools', 'invalid_value');
  }
  // Only the fields that the grammar needs cross to its thread.
  const functions = tools.map(({ function: { name, parameters, strict } }) => ({
    function: { name, parameters: parameters ?? undefined, strict },
    input: inputOf(texts.get(name)),
  }));
  return {
    field: 'tools',
    form: {
      kind: 'tools',
      layout,
      tools: functions,
      isRequired,
      parallel,
    },
  };
}

function inputOf(grammar: TextGrammar | undefined): TextGrammar | undefined {
  return grammar && { syntax: grammar.syntax, definition: grammar.definition };
}

function requireFormat(format: ToolCallFormat | null): ToolCallFormat {
  if (format !== null) return format;
  throw new InvalidRequestError(
    'This model runs with --tool-call-parser none, so its answers are not searched for tool calls and a ' +
      'call cannot be enforced.',
    'tool_choice',
    'unsupported_parameter',
  );
}
