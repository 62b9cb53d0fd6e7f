/** How models write their tool calls. */
import { createHash } from 'node:crypto';

export type ToolCallFormatName = 'hermes' | 'llama3_json' | 'mistral';

export interface ToolCallFormat {
  readonly name: ToolCallFormatName;
  /** What comes before the calls. */
  readonly open: string;
  /** Whether calls are known without `open` where the text starts with one. */
  readonly openIsOptional: boolean;
  /** What encloses the calls behind `open` and stands between them; empty where nothing does. */
  readonly list: { readonly start: string; readonly separator: string; readonly end: string };
  /** The key of a call's arguments. */
  readonly argumentsKey: 'arguments' | 'parameters';
  /** The marker is a special token, which must not be left out of the text. */
  readonly hasSpecialMarker: boolean;
  /** Calls' ids, as the model's own template takes them back. */
  readonly id: { readonly prefix: string; readonly length: number };
}

export const TOOL_CALL_FORMATS: Readonly<Record<ToolCallFormatName, ToolCallFormat>> = {
  /** Hermes, Qwen, SmolLM, summit: `<tool_call>\n{...}\n</tool_call>` for each call. */
  hermes: {
    name: 'hermes',
    open: '<tool_call>',
    openIsOptional: false,
    list: { start: '', separator: '', end: '</tool_call>' },
    argumentsKey: 'arguments',
    hasSpecialMarker: false,
    id: { prefix: 'call_', length: 24 },
  },
  /** Llama 3: the text is `{...}; {...}`, with `<|python_tag|>` before it or not. */
  llama3_json: {
    name: 'llama3_json',
    open: '<|python_tag|>',
    openIsOptional: true,
    list: { start: '', separator: ';', end: '' },
    argumentsKey: 'parameters',
    hasSpecialMarker: true,
    id: { prefix: 'call_', length: 24 },
  },
  /** Mistral: `[TOOL_CALLS][{...}, {...}]`; its templates refuse ids of another length than 9. */
  mistral: {
    name: 'mistral',
    open: '[TOOL_CALLS]',
    openIsOptional: false,
    list: { start: '[', separator: ',', end: ']' },
    argumentsKey: 'arguments',
    hasSpecialMarker: true,
    id: { prefix: '', length: 9 },
  },
};

/** The format that a chat template shows the model, or null if it knows none of these. */
export function detectToolCallFormat(template: string): ToolCallFormat | null {
  if (template.includes('[TOOL_CALLS]')) return TOOL_CALL_FORMATS.mistral;
  if (template.includes('<tool_call>')) return TOOL_CALL_FORMATS.hermes;
  const isLlama = template.includes('<|python_tag|>') || template.includes('"parameters":');
  return isLlama && template.includes('tools') ? TOOL_CALL_FORMATS.llama3_json : null;
}

/** @param of which call it is: of which answer, choice and place */
export function callId({ id }: ToolCallFormat, of: string): string {
  return id.prefix + createHash('sha256').update(of).digest('hex').slice(0, id.length);
}
