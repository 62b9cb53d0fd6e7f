/** Calls of drawn tools by a model that finds every token equally likely, in any format. */
import { ChannelParser } from '../../src/front/chat/channels.ts';
import { textOfArguments } from '../../src/front/chat/custom-tools.ts';
import { ToolCallParser, type ToolCallEvent } from '../../src/front/tool-calls/tool-call-parser.ts';
import { sourceToEbnf } from '../../src/grammar/source-ebnf.ts';
import type { ToolCallLayout } from '../../src/grammar/tool-call-layout.ts';
import type { DrawnTool } from './drawn-tools.ts';
import { engineRequest } from './engine-requests.ts';
import { EOS, TOKEN_TEXTS, textOf } from './grammar-vocabulary.ts';
import type { RandomTextEngine } from './random-text-engine.ts';

export interface DrawnCall {
  readonly tool: DrawnTool;
  /** Text that the model wrote. */
  readonly written: string;
  /** Whether the model came to an end within its tokens. */
  readonly hasEnded: boolean;
  /** The text of a custom tool, or the arguments as JSON; null where no whole call came of it. */
  readonly text: string | null;
}

/** Without the characters that the tests' vocabulary lacks. */
export function spelled(layout: ToolCallLayout): ToolCallLayout {
  const text = JSON.stringify(layout).replaceAll('｜', '|').replaceAll('▁', '_');
  return JSON.parse(text) as ToolCallLayout;
}

/** The first call of a tool that may be called, but need not: the model has begun one. */
export async function drawCalls(
  engine: RandomTextEngine,
  layout: ToolCallLayout,
  isHarmony: boolean,
  tools: readonly DrawnTool[],
  firstId: number,
): Promise<DrawnCall[]> {
  const begun = Array.from(`${layout.open.trim()}${layout.begin}`);
  const outputTokenIds = Int32Array.from(begun, (each) => TOKEN_TEXTS.indexOf(each));
  for (const [index, { name, input, parameters }] of tools.entries()) {
    const tool = { function: { name, parameters, strict: input === undefined }, input };
    const form = {
      kind: 'tools' as const,
      layout,
      tools: [tool],
      isRequired: false,
      parallel: false,
    };
    const grammar = { ebnf: sourceToEbnf({ form }), field: 'test' };
    const id = firstId + index;
    const options = {
      maxTokens: 1900,
      stopTokenIds: [EOS],
      sampling: { temperature: 1, seed: BigInt(id) },
    };
    await engine.add(engineRequest({ id, grammar, outputTokenIds, ...options }));
  }
  await engine.runToEnd();
  return tools.map((tool, index) => {
    const id = firstId + index;
    const written = begun.join('') + textOf(engine.tokensOf(id));
    const hasEnded = engine.outputs.get(id)?.at(-1)?.finishReason === 'stop';
    return { tool, written, hasEnded, text: firstText(layout, isHarmony, tool, written) };
  });
}

function firstText(
  layout: ToolCallLayout,
  isHarmony: boolean,
  { name, input, parameters }: DrawnTool,
  written: string,
): string | null {
  const text = { type: 'object', properties: { input: { type: 'string' } } };
  const known = new Map<string, unknown>([[name, input === undefined ? parameters : text]]);
  const tools = { known, withheld: new Set<string>() };
  const parser = isHarmony
    ? new ChannelParser(tools, '<|start|>assistant')
    : new ToolCallParser(layout, tools);
  const events = [...parser.push(written), ...parser.flush(false)] as readonly ToolCallEvent[];
  if (parser.numWhole === 0) return null;
  const json = events
    .flatMap((event) => (event.type === 'arguments' && event.index === 0 ? [event.text] : []))
    .join('');
  return input === undefined ? json : textOfArguments(json);
}
