/**
 * The tools of a response as a model can call them: functions, of a namespace or not, and custom tools, which
 * are functions of one text. Tools that only a hosted service runs are left out.
 */
import type { ChatTool } from '../../front/chat/chat-request.ts';
import { asFunction } from '../../front/chat/custom-tools.ts';
import type { TextGrammar } from '../../grammar/grammar-source.ts';
import { LIMITS } from '../../limits.ts';
import { badRequest } from '../errors.ts';
import { parseWith } from '../schemas/parse.ts';
import {
  customTool,
  type CustomTool,
  functionTool,
  type FunctionTool,
  namespaceTool,
} from '../schemas/responses.ts';

/** A tool as its client knows it. */
export interface ClientTool {
  readonly type: 'function' | 'custom';
  readonly name: string;
  readonly namespace: string | null;
}

export interface CallableTools {
  /** As templates show them. */
  readonly tools: readonly ChatTool[];
  /** By the name that the model calls it by. */
  readonly known: ReadonlyMap<string, ClientTool>;
  /** Grammars of custom tools, by the same name. */
  readonly textGrammars: ReadonlyMap<string, TextGrammar>;
  /** Types of the tools that were left out, each once. */
  readonly skipped: readonly string[];
}

/** The name that a model calls a tool by: chat templates know no namespaces. */
export function callName(tool: string, namespace: string | null | undefined): string {
  if (!namespace) return tool;
  return namespace.endsWith('__') ? `${namespace}${tool}` : `${namespace}__${tool}`;
}

/** @throws ApiError 400 naming the tool that is not well formed, or is one too many */
export function parseTools(list: readonly { readonly type: string }[]): CallableTools {
  const tools: ChatTool[] = [];
  const known = new Map<string, ClientTool>();
  const textGrammars = new Map<string, TextGrammar>();
  const skipped = new Set<string>();
  const add = (tool: FunctionTool | CustomTool, namespace: string | null): void => {
    const called = callName(tool.name, namespace);
    if (tools.length === LIMITS.tools) {
      const message = `\`tools\`: expected at most ${LIMITS.tools}, those of namespaces included.`;
      throw badRequest(message, 'tools', 'invalid_value');
    }
    known.set(called, { type: tool.type, name: tool.name, namespace });
    if (tool.type === 'function') {
      tools.push(toFunction(tool, called));
      return;
    }
    const grammar = tool.format?.type === 'grammar' ? tool.format : null;
    if (grammar !== null) textGrammars.set(called, grammar);
    tools.push(asFunction({ name: called, description: tool.description ?? '', grammar }));
  };
  for (const [index, tool] of list.entries()) {
    const path = ['tools', index];
    switch (tool.type) {
      case 'function':
        add(parseWith(functionTool, tool, path), null);
        break;
      case 'custom':
        add(parseWith(customTool, tool, path), null);
        break;
      case 'namespace': {
        const { name: namespace, tools: inside } = parseWith(namespaceTool, tool, path);
        for (const each of inside) add(each, namespace);
        break;
      }
      default:
        skipped.add(tool.type);
    }
  }
  return { tools, known, textGrammars, skipped: [...skipped] };
}

function toFunction(tool: FunctionTool, called: string): ChatTool {
  const { type, ...definition } = tool;
  // Templates show what is there.
  const fields = Object.entries(definition).filter(([, value]) => value !== null);
  return { type, function: { ...Object.fromEntries(fields), name: called } };
}
