/**
 * Tools, calls and results as text, in the format of Hermes, for chat templates that have no place for
 * them: what such a template left out, the model would never see.
 */
import { HERMES_FORMAT } from '../tool-calls/formats.ts';
import { writeCalls } from '../tool-calls/write-calls.ts';
import { type ChatMessage, type ContentPart, toArguments, type ToolCall } from './chat-message.ts';

/** @returns what tells a model of its tools */
export function toolPrompt(tools: readonly unknown[]): string {
  return `You can call these tools:
<tools>
${tools.map((tool) => JSON.stringify(tool)).join('\n')}
</tools>
To call a tool, answer with a JSON object in this form:
<tool_call>
{"name": <tool name>, "arguments": <arguments object>}
</tool_call>`;
}

/**
 * `messages` with `text` at the end of the system message, which is made if there is none.
 * @param role of a system message: `user` puts it before what the user says first
 */
export function withSystemText(
  messages: readonly ChatMessage[],
  text: string,
  role: 'system' | 'user',
): ChatMessage[] {
  const [first, ...rest] = messages;
  if (first?.role === 'system') return [joined(first, text), ...rest];
  const own: ChatMessage = { role, content: text };
  return first?.role === role ? [joined(own, '', first), ...rest] : [own, ...messages];
}

/**
 * All system messages as one, at the beginning, for templates that take no other: as vLLM does. Null where
 * there is none elsewhere.
 */
export function withSystemFirst(messages: readonly ChatMessage[]): ChatMessage[] | null {
  const system = messages.filter(({ role }) => role === 'system');
  const [first, ...more] = system;
  if (first === undefined || (more.length === 0 && messages[0] === first)) return null;
  const texts = system.map(({ content }) =>
    partsOf(content)
      .map(({ text = '' }) => text)
      .join('\n'),
  );
  const others = messages.filter(({ role }) => role !== 'system');
  return [{ ...first, content: texts.join('\n\n') }, ...others];
}

/**
 * Calls of an assistant's message follow its text; results of tools are the user's.
 * @throws ChatTemplateError for arguments that aren't a JSON object
 */
export function callsAsText(messages: readonly ChatMessage[]): ChatMessage[] {
  const told: ChatMessage[] = [];
  let followsResult = false;
  for (const [index, message] of messages.entries()) {
    const { tool_calls: calls, ...plain } = message;
    const isResult = message.role === 'tool' || message.role === 'function';
    const turn: ChatMessage = isResult ? { role: 'user', content: resultOf(message) } : plain;
    const last = told.at(-1);
    if (followsResult && last && turn.role === 'user') {
      // Templates want turns of user and assistant to alternate.
      told[told.length - 1] = joined(last, '', turn);
    } else {
      const texts = (calls ?? []).map((call, at) =>
        callText(call, `messages[${index}].tool_calls[${at}]`),
      );
      told.push(texts.length === 0 ? turn : joined(turn, texts.join('\n')));
    }
    followsResult = isResult;
  }
  return told;
}

function callText({ function: { name, arguments: args } }: ToolCall, where: string): string {
  const object = toArguments(args, `${where}.function.arguments`);
  return writeCalls(HERMES_FORMAT.layout, [{ name, arguments: { ...object } }]);
}

/** As text; images follow it. */
function resultOf({ content }: ChatMessage): ContentPart[] {
  const parts = partsOf(content);
  const texts = parts.flatMap(({ type, text = '' }) => (type === 'image' ? [] : [text]));
  const text = `<tool_response>\n${texts.join('\n')}\n</tool_response>`;
  return [{ type: 'text', text }, ...parts.filter(({ type }) => type === 'image')];
}

/** Appends a text, and the content of another message, to a message. */
function joined(message: ChatMessage, text: string, other?: ChatMessage): ChatMessage {
  const parts = [...partsOf(message.content), ...partsOf(text), ...partsOf(other?.content)];
  return { ...message, content: parts };
}

function partsOf(content: ChatMessage['content']): readonly ContentPart[] {
  if (typeof content !== 'string') return content ?? [];
  return content === '' ? [] : [{ type: 'text', text: content }];
}
