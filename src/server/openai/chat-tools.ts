/** The tools of a chat as a model can call them: functions, and custom tools as functions of one text. */
import { allowTools } from '../../front/chat/allowed-tools.ts';
import type { ChatRequest, ChatTool } from '../../front/chat/chat-request.ts';
import { asFunction } from '../../front/chat/custom-tools.ts';
import type { TextGrammar } from '../../grammar/grammar-source.ts';
import type { ChatPromptFields } from '../schemas/bodies.ts';
import type { NamedTool, Tool } from '../schemas/tools.ts';

/** Names of the custom tools. */
export function customToolsOf({ tools }: ChatPromptFields): ReadonlySet<string> {
  return new Set((tools ?? []).flatMap((tool) => (tool.type === 'custom' ? tool.custom.name : [])));
}

/** Grammars of the custom tools' texts, by name. */
export function textGrammarsOf({ tools }: ChatPromptFields): ReadonlyMap<string, TextGrammar> {
  const grammars = new Map<string, TextGrammar>();
  for (const tool of tools ?? []) {
    const grammar = tool.type === 'custom' ? grammarOf(tool.custom) : null;
    if (tool.type === 'custom' && grammar !== null) grammars.set(tool.custom.name, grammar);
  }
  return grammars;
}

/** @throws InvalidRequestError for a choice of tools that there are not */
export function toChatTools(
  body: ChatPromptFields,
): Pick<ChatRequest, 'tools' | 'toolChoice' | 'withheldTools'> {
  const tools = (body.tools ?? []).map(toChatTool);
  const choice = body.tool_choice ?? (tools.length > 0 ? 'auto' : 'none');
  if (typeof choice === 'string') return { tools, toolChoice: choice };
  if (choice.type !== 'allowed_tools') return { tools, toolChoice: { name: nameOf(choice) } };
  const { mode, tools: allowed } = choice.allowed_tools;
  return allowTools(tools, { mode, names: allowed.map(nameOf) });
}

function toChatTool(tool: Tool): ChatTool {
  if (tool.type === 'function') return tool;
  const { name, description } = tool.custom;
  return asFunction({ name, description: description ?? '', grammar: grammarOf(tool.custom) });
}

function grammarOf({ format }: (Tool & { type: 'custom' })['custom']): TextGrammar | null {
  return format?.type === 'grammar' ? format.grammar : null;
}

function nameOf(tool: NamedTool): string {
  return tool.type === 'function' ? tool.function.name : tool.custom.name;
}
