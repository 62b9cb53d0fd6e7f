/**
 * Chats in the browser's own database, IndexedDB. Where there is none, as in some private windows, they
 * last as long as the page.
 */
import { type DBSchema, type IDBPDatabase, openDB } from 'idb';
import type { Chat, Message } from './types.ts';

interface ChatSchema extends DBSchema {
  chats: { key: string; value: Chat; indexes: { changedAt: number } };
  messages: { key: string; value: Message; indexes: { chatId: string } };
}

type Database = IDBPDatabase<ChatSchema>;

let opened: Promise<Database | null> | undefined;

function database(): Promise<Database | null> {
  opened ??= openDB<ChatSchema>('chairlift', 1, {
    upgrade(db) {
      db.createObjectStore('chats', { keyPath: 'id' }).createIndex('changedAt', 'changedAt');
      db.createObjectStore('messages', { keyPath: 'id' }).createIndex('chatId', 'chatId');
    },
  }).catch(() => null);
  return opened;
}

/** The one that changed last first. */
export async function readChats(): Promise<Chat[]> {
  const db = await database();
  return ((await db?.getAllFromIndex('chats', 'changedAt')) ?? []).toReversed();
}

/** In the order in which they were made, which is that of their ids. */
export async function readMessages(chatId: string): Promise<Message[]> {
  const db = await database();
  return (await db?.getAllFromIndex('messages', 'chatId', chatId)) ?? [];
}

export async function writeChat(chat: Chat): Promise<void> {
  await (await database())?.put('chats', chat);
}

export async function writeMessages(messages: Iterable<Message>): Promise<void> {
  const writing = (await database())?.transaction('messages', 'readwrite');
  if (writing === undefined) return;
  for (const message of messages) void writing.store.put(message);
  await writing.done;
}

export async function deleteChat(id: string): Promise<void> {
  const deleting = (await database())?.transaction(['chats', 'messages'], 'readwrite');
  if (deleting === undefined) return;
  const messages = deleting.objectStore('messages');
  for (const key of await messages.index('chatId').getAllKeys(id)) void messages.delete(key);
  void deleting.objectStore('chats').delete(id);
  await deleting.done;
}
