/** Tools that a request has, of which it lets the model call some. */
import { InvalidRequestError } from '../invalid-request.ts';
import type { ChatPrompt, ChatTool } from './chat-request.ts';
import { told } from '../../told.ts';

export interface AllowedTools {
  readonly mode: 'auto' | 'required';
  readonly names: readonly string[];
}

/**
 * The others are not shown to the model, and calls of them are text.
 * @throws InvalidRequestError for a name that is not among the tools
 */
export function allowTools(
  tools: readonly ChatTool[],
  { mode, names }: AllowedTools,
): Pick<ChatPrompt, 'tools' | 'toolChoice' | 'withheldTools'> {
  const known = new Set(tools.map(({ function: { name } }) => name));
  const unknown = names.find((name) => !known.has(name));
  if (unknown !== undefined) {
    throw new InvalidRequestError(
      `\`tool_choice\` allows \`${told(unknown, 100)}\`, which is not among the \`tools\`.`,
      'tool_choice',
      'invalid_value',
    );
  }
  const allowed = new Set(names);
  return {
    tools: tools.filter(({ function: { name } }) => allowed.has(name)),
    toolChoice: mode,
    withheldTools: new Set([...known].filter((name) => !allowed.has(name))),
  };
}
