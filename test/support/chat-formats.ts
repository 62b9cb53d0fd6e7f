/** Formats of the tables, by name. */
import type { ReasoningFormat } from '../../src/front/chat/reasoning-formats.ts';
import { reasoningFormatNamed } from '../../src/front/chat/reasoning-formats.ts';
import { type ToolCallFormat, toolCallFormatNamed } from '../../src/front/tool-calls/formats.ts';

/** @param template tells formats of one name apart */
export function toolCallFormat(name: string, template = ''): ToolCallFormat {
  const format = toolCallFormatNamed(name, template);
  if (format === null) throw new Error(`no format is called ${name}`);
  return format;
}

export function reasoningFormat(name: string): ReasoningFormat {
  const format = reasoningFormatNamed(name);
  if (format === null) throw new Error(`no format is called ${name}`);
  return format;
}

export const HERMES = toolCallFormat('hermes');
export const THINK = reasoningFormat('think');
