import { DEFAULT_SETTINGS, type Chat, type Message } from '../../web/src/views/chat/model/types.ts';

export function message(
  id: string,
  parentId: string | null,
  fields: Partial<Message> = {},
): Message {
  const role = id.startsWith('a') ? 'assistant' : 'user';
  return { id, parentId, chatId: 'chat', role, content: id, createdAt: 1, ...fields };
}

export function chat(fields: Partial<Chat> = {}): Chat {
  return {
    id: 'chat',
    title: 'A chat',
    createdAt: 1,
    changedAt: 1,
    settings: DEFAULT_SETTINGS,
    chosen: {},
    ...fields,
  };
}
