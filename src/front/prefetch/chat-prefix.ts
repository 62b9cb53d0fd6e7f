/** Tokens that all continuations of a chat begin with. */
import { commonLength } from '../../engine/common-length.ts';
import type { Caller } from '../caller.ts';
import type { ChatMessage } from '../templates/chat-message.ts';
import { type ChatPrompts, encodeChat } from '../chat/chat-prompt.ts';
import type { ChatPrompt } from '../chat/chat-request.ts';

/** Texts that have no token in common, wherever they stand. */
const NEXT = ['a', '1'] as const;

/**
 * Tokens that the chat begins with whatever its next message is: the common beginning of two chats that
 * continue differently. The chat alone is not enough: templates may render a message otherwise once
 * another follows.
 * @throws as `encodeChat`
 */
export async function chatPrefix(
  model: ChatPrompts & { readonly model: { readonly maxModelLen: number } },
  chat: Pick<ChatPrompt, 'messages' | 'tools' | 'toolChoice' | 'templateVariables' | 'thinking'>,
  caller: Caller,
): Promise<Int32Array> {
  const options = { maxTokens: model.model.maxModelLen, field: 'messages' };
  const [first, second] = await Promise.all(
    NEXT.map(async (content) => {
      const messages = [...chat.messages, nextMessage(chat.messages.at(-1), content)];
      const open = { addGenerationPrompt: false, continueFinalMessage: false };
      const prompt = await encodeChat(model, { ...chat, messages, ...open }, options, caller);
      return prompt.tokenIds;
    }),
  );
  if (first === undefined || second === undefined) return new Int32Array();
  return first.slice(0, commonLength(first, second));
}

/** Message that can follow: the result of the last message's tool call, otherwise a user's message. */
function nextMessage(last: ChatMessage | undefined, content: string): ChatMessage {
  const [call] = last?.tool_calls ?? [];
  return call === undefined
    ? { role: 'user', content }
    : { role: 'tool', content, ...(call.id === undefined ? {} : { tool_call_id: call.id }) };
}
