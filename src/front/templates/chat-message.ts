/** Brings chat messages as the API takes them into the form a model's template expects. */
import { WellFormedError } from '../../well-formed-error.ts';
import { JsonBoundError, parseBoundedJson } from '../json-bounds.ts';

/** The chat can't be rendered; the message is for the client. */
export class ChatTemplateError extends WellFormedError {
  override readonly name = 'ChatTemplateError';
}

export interface ContentPart {
  readonly type: string;
  readonly text?: string | undefined;
  readonly [extra: string]: unknown;
}

export interface ToolCall {
  readonly id?: string | undefined;
  readonly type?: string | undefined;
  readonly function: {
    readonly name: string;
    /** JSON text, as models write and the API returns it, or the object itself. */
    readonly arguments?: unknown;
    readonly [extra: string]: unknown;
  };
  readonly [extra: string]: unknown;
}

/** Fields beyond these reach the template as they are, but for thoughts. */
export interface ChatMessage {
  readonly role: string;
  readonly content?: string | readonly ContentPart[] | null | undefined;
  readonly tool_calls?: readonly ToolCall[] | null | undefined;
  readonly [extra: string]: unknown;
}

export interface MessageStyle {
  /** The template wants `[{type: 'text', text}]` and not a string. */
  readonly textAsParts: boolean;
  /** The template writes tool-call arguments as they are and wants JSON text, not an object. */
  readonly argumentsAsText: boolean;
}

/** How a template is told of an image. */
export interface ImageStyle {
  /** Text that stands for an image in a prompt. */
  readonly mark: string;
  /** The template writes it for a part `{type: 'image'}`; otherwise it is put into the message's text. */
  readonly asParts: boolean;
}

type PlainPart = { readonly type: 'text'; readonly text: string } | { readonly type: 'image' };

/**
 * @param images null for a model that takes text only
 * @param where names the message in errors, such as `messages[2]`
 * @throws ChatTemplateError for content that the model does not take and for arguments that aren't a JSON object.
 */
export function toTemplateMessage(
  message: ChatMessage,
  style: MessageStyle,
  images: ImageStyle | null,
  where: string,
): Record<string, unknown> {
  const { content, tool_calls: toolCalls, ...rest } = message;
  const parts = toPlainParts(content, images, `${where}.content`);
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const plain: Record<string, unknown> = {
    ...rest,
    ...toThought(message, texts),
    // Parts are lines, and no content is empty content, as in vLLM: templates add it to strings.
    content: style.textAsParts || texts.length < parts.length ? parts : texts.join('\n'),
  };
  // Some templates ask whether the field is there, not whether it has calls.
  if (toolCalls !== null && toolCalls !== undefined && toolCalls.length > 0) {
    plain['tool_calls'] = toolCalls.map((call, i) =>
      toTemplateToolCall(call, style, `${where}.tool_calls[${i}]`),
    );
  }
  return plain;
}

/** By all names that clients and templates have for it. */
function toThought(message: ChatMessage, texts: readonly string[]): Record<string, unknown> {
  const { reasoning_content: older, reasoning, thinking } = message;
  const thought = [older, reasoning, thinking].find((text) => typeof text === 'string');
  if (thought === undefined) return {};
  // The template of gpt-oss refuses a thought beside content.
  const isAlone = texts.every((text) => text === '');
  return {
    reasoning_content: thought,
    reasoning: thought,
    ...(isAlone ? { thinking: thought } : {}),
  };
}

function toTemplateToolCall(call: ToolCall, style: MessageStyle, where: string): ToolCall {
  const args = toArguments(call.function.arguments, `${where}.function.arguments`);
  const shown = style.argumentsAsText ? JSON.stringify(args) : args;
  return { ...call, function: { ...call.function, arguments: shown } };
}

/** @returns images only where the template writes them itself; their marks are text otherwise */
function toPlainParts(
  content: ChatMessage['content'],
  images: ImageStyle | null,
  where: string,
): PlainPart[] {
  if (content === null || content === undefined) return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map((part, i) => {
    if (part.type === 'image' && images !== null) {
      return images.asParts ? { type: 'image' } : { type: 'text', text: images.mark };
    }
    if (part.type !== 'text') {
      throw new ChatTemplateError(
        `${where}[${i}] is of type '${part.type}', but this model takes text only`,
      );
    }
    if (typeof part.text !== 'string') {
      throw new ChatTemplateError(`${where}[${i}].text must be a string`);
    }
    return { type: 'text', text: part.text };
  });
}

/** Images among the parts of messages. */
export function countImages(messages: readonly ChatMessage[]): number {
  const isImage = ({ type }: ContentPart): boolean => type === 'image';
  return messages.reduce(
    (sum, { content }) => sum + (Array.isArray(content) ? content.filter(isImage).length : 0),
    0,
  );
}

/** @throws ChatTemplateError for what isn't a JSON object, or the text of one */
export function toArguments(args: unknown, where: string): object {
  // Models leave out the arguments of a tool without parameters.
  if (args === undefined || args === null || args === '') return {};
  let value: unknown = args;
  if (typeof args === 'string') {
    try {
      value = parseBoundedJson(args);
    } catch (error) {
      if (error instanceof JsonBoundError) {
        throw new ChatTemplateError(`${where}: ${error.message}`, { cause: error });
      }
      throw new ChatTemplateError(`${where} is not JSON`, { cause: error });
    }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ChatTemplateError(`${where} must be a JSON object`);
  }
  return value;
}
