/** What a chat's answer may hold besides text, and the grammar that sees to it. */
import type { ChatOutputOptions } from '../../front/chat/chat-output.ts';
import { opensThinking, ReasoningSplitter } from '../../front/chat/reasoning.ts';
import type { ToolCallFormat } from '../../front/chat/tool-calls/formats.ts';
import type { GrammarSource, ToolDefinition } from '../../grammar/grammar-source.ts';
import type { ServerContext } from '../context.ts';
import { badRequest } from '../errors.ts';
import { grammarJsonFault } from '../schemas/grammar-json.ts';
import type { ToolChoice } from '../schemas/tools.ts';
import type { StructuredFields } from '../schemas/structured.ts';
import { grammarOf } from '../generation/structured-outputs.ts';

export interface ChatOutputForm {
  /** Left out when the text is free. */
  readonly grammar?: GrammarSource;
  /** Tool calls begin with a special token, which must be shown to be found. */
  readonly showsSpecialTokens: boolean;
  /** For one choice; null when its text is content and nothing else. */
  readonly createOptions: () => ChatOutputOptions | null;
}

interface ChatOutputFields extends StructuredFields {
  readonly tools?: readonly ToolDefinition[] | null | undefined;
  readonly tool_choice?: ToolChoice | null | undefined;
  readonly parallel_tool_calls?: boolean | null | undefined;
}

/**
 * @param prompt the rendered chat
 * @throws ApiError 400 when tools and their choice don't go together, when this model's tool calls
 *   are not known, or when the form asked for can't be enforced.
 */
export function chatOutputForm(
  { chatFormat }: Pick<ServerContext, 'chatFormat'>,
  body: ChatOutputFields,
  prompt: string,
): ChatOutputForm {
  const tools = body.tools ?? [];
  const choice = body.tool_choice ?? (tools.length > 0 ? 'auto' : 'none');
  const required = requiredTools(tools, choice);
  const format = chatFormat.toolCalls;
  const grammar =
    required === null
      ? grammarOf(body)
      : toolGrammar(requireFormat(format), required, choice, body.parallel_tool_calls ?? true);
  const calls =
    format === null || tools.length === 0 || choice === 'none'
      ? null
      : { format, names: new Set(tools.map((tool) => tool.function.name)) };
  const isOpen = opensThinking(prompt);
  const thinks = chatFormat.reasoning && !prompt.trimEnd().endsWith('</think>');
  return {
    ...(grammar === null ? {} : { grammar: thinks ? afterThought(grammar, isOpen) : grammar }),
    showsSpecialTokens: calls?.format.hasSpecialMarker ?? false,
    createOptions: () =>
      thinks || calls !== null
        ? { reasoning: thinks ? new ReasoningSplitter(isOpen) : null, toolCalls: calls }
        : null,
  };
}

/** The tools of which one must be called; null when none has to. */
function requiredTools(
  tools: readonly ToolDefinition[],
  choice: ToolChoice,
): readonly ToolDefinition[] | null {
  if (choice === 'none' || choice === 'auto') return null;
  if (tools.length === 0) {
    throw badRequest('`tool_choice` asks for a call, but there are no `tools`.', 'tool_choice');
  }
  if (choice === 'required') return tools;
  const { name } = choice.function;
  const named = tools.filter((tool) => tool.function.name === name);
  if (named.length > 0) return named.slice(0, 1);
  throw badRequest(
    `\`tool_choice\` names \`${name.slice(0, 100)}\`, which is not among the \`tools\`.`,
    'tool_choice',
    'invalid_value',
  );
}

function toolGrammar(
  layout: ToolCallFormat,
  tools: readonly ToolDefinition[],
  choice: ToolChoice,
  isParallel: boolean,
): GrammarSource {
  const fault = grammarJsonFault(tools.map((tool) => tool.function));
  if (fault !== null) throw badRequest(`\`tools\`: ${fault}.`, 'tools', 'invalid_value');
  const parallel = isParallel && choice === 'required';
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
  throw badRequest(
    "This model's chat template shows no format of tool calls that is known here, so that a call " +
      'can not be enforced; see --tool-call-parser.',
    'tool_choice',
    'unsupported_parameter',
  );
}

function afterThought(source: GrammarSource, isOpen: boolean): GrammarSource {
  return { ...source, thought: isOpen ? 'open' : 'optional' };
}
