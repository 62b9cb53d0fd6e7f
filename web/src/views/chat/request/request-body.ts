/** From a conversation to the body of a request. */
import type { Attachment, ChatSettings, Message } from '../model/types.ts';
import { sendablePath } from './sendable-path.ts';

type Part =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } };

export interface RequestMessage {
  readonly role: string;
  readonly content: string | readonly Part[] | null;
  readonly tool_calls?: readonly object[];
  readonly tool_call_id?: string;
}

export type RequestBody = Readonly<Record<string, unknown>> & {
  readonly messages: readonly RequestMessage[];
};

const NUM_ALTERNATIVES = 8;

/**
 * @param path from the first message to the last
 * @param given what the answer begins with; '' for nothing
 */
export function toRequestBody(
  path: readonly Message[],
  settings: ChatSettings,
  model: string | null,
  given = '',
): RequestBody {
  const { system, parameters, logprobs } = settings;
  const tools = parseTools(settings.tools);
  return {
    ...(model === null ? {} : { model }),
    messages: [
      ...(system.trim() === '' ? [] : [{ role: 'system', content: system }]),
      ...sendablePath(path).map(toRequestMessage),
      ...(given === '' ? [] : [{ role: 'assistant', content: given }]),
    ],
    ...(given === '' ? {} : { continue_final_message: true }),
    ...parameters,
    ...(tools.length > 0 ? { tools, tool_choice: settings.toolChoice } : {}),
    // Given text may be any part of the JSON, and a grammar begins at its start.
    ...(given === '' ? responseFormat(settings) : {}),
    ...(logprobs ? { logprobs: true, top_logprobs: NUM_ALTERNATIVES } : {}),
    stream: true,
    // Counts while it is written, and at the end.
    stream_options: { include_usage: true, continuous_usage_stats: true },
  };
}

/** Tools that are typed; none while they are not a list. */
export function parseTools(text: string): readonly unknown[] {
  try {
    const tools: unknown = JSON.parse(text);
    return Array.isArray(tools) ? tools : [];
  } catch {
    return [];
  }
}

/** Text of a message with what is attached to it. */
export function fullText({ content, attachments = [] }: Pick<Message, 'content' | 'attachments'>) {
  const texts = attachments.filter(({ image }) => image === undefined).map(attachedText);
  return [...texts, content].join('\n\n');
}

/** As text where it has no images; with them as parts, images first, as models were trained. */
function contentOf(message: Message): string | readonly Part[] {
  const images = (message.attachments ?? []).flatMap(({ image: url }): Part[] =>
    url === undefined ? [] : [{ type: 'image_url', image_url: { url } }],
  );
  const text = fullText(message);
  return images.length === 0 ? text : [...images, { type: 'text', text }];
}

function attachedText({ name, text }: Attachment): string {
  // Longer than any fence in the text.
  const longest = Math.max(2, ...Array.from(text.matchAll(/`{3,}/g), ([fence]) => fence.length));
  const fence = '`'.repeat(longest + 1);
  return `${name}:\n${fence}\n${text}\n${fence}`;
}

function toRequestMessage(message: Message): RequestMessage {
  const { role, content, toolCalls = [], toolCallId } = message;
  if (role === 'tool') return { role, content, tool_call_id: toolCallId ?? '' };
  if (toolCalls.length === 0) return { role, content: contentOf(message) };
  return {
    role,
    content: content === '' ? null : content,
    tool_calls: toolCalls.map(({ id, name, arguments: text }) => ({
      id,
      type: 'function',
      function: { name, arguments: text },
    })),
  };
}

function responseFormat({ output, schema }: ChatSettings): object {
  if (output === 'text') return {};
  if (output === 'json') return { response_format: { type: 'json_object' } };
  const json_schema = { name: 'answer', schema: parseSchema(schema), strict: true };
  return { response_format: { type: 'json_schema', json_schema } };
}

function parseSchema(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
