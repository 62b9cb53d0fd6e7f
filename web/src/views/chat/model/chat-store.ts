/**
 * Chats in the browser's own database, IndexedDB. Where there is none, as in some private windows, they
 * last as long as the page. What is written is told to the other tabs.
 */
import { type DBSchema, type IDBPDatabase, openDB } from 'idb';
import { tellTabs } from './chat-channel.ts';
import type { Chat, Message } from './types.ts';

interface ChatSchema extends DBSchema {
  chats: { key: string; value: Chat; indexes: { changedAt: number } };
  messages: { key: string; value: Message; indexes: { chatId: string } };
}

type Database = IDBPDatabase<ChatSchema>;

let opened: Promise<Database | null> | undefined;
/** The same, once it is there: then a write begins at once, which counts when the page is left. */
let ready: Database | null = null;

async function database(): Promise<Database | null> {
  opened ??= openDB<ChatSchema>('chairlift', 1, {
    upgrade(db) {
      db.createObjectStore('chats', { keyPath: 'id' }).createIndex('changedAt', 'changedAt');
      db.createObjectStore('messages', { keyPath: 'id' }).createIndex('chatId', 'chatId');
    },
  }).catch(() => null);
  ready = await opened;
  return ready;
}

/** The one that changed last first. */
export async function readChats(): Promise<Chat[]> {
  const db = await database();
  return ((await db?.getAllFromIndex('chats', 'changedAt')) ?? []).toReversed();
}

export async function readChat(id: string): Promise<Chat | undefined> {
  return (await database())?.get('chats', id);
}

/** In the order in which they were made, which is that of their ids. */
export async function readMessages(chatId: string): Promise<Message[]> {
  const db = await database();
  return (await db?.getAllFromIndex('messages', 'chatId', chatId)) ?? [];
}

/** One after the other, so that never more than one is in memory. */
export async function* allMessages(): AsyncGenerator<Message> {
  const db = await database();
  // In pieces: a transaction does not outlive the pauses of whoever reads.
  for (let after = ''; ;) {
    const range = IDBKeyRange.lowerBound(after, true);
    const piece = (await db?.getAll('messages', range, 200)) ?? [];
    yield* piece;
    const last = piece.at(-1);
    if (last === undefined) return;
    after = last.id;
  }
}

export async function writeChat(chat: Chat): Promise<void> {
  const db = ready ?? (await database());
  tellTabs({ type: 'chat', chat });
  // Committed at once: else a page that is left before it hears of the write loses it.
  const writing = db?.transaction('chats', 'readwrite');
  void writing?.store.put(chat);
  writing?.commit();
  await writing?.done;
}

/**
 * Messages of a chat that there is: what was deleted in another tab does not come back in parts.
 * @returns whether the chat is still there
 */
export async function writeMessages(messages: readonly Message[]): Promise<boolean> {
  const [first] = messages;
  const db = ready ?? (await database());
  if (first === undefined || db === null) return true;
  const { chatId } = first;
  const writing = db.transaction(['chats', 'messages'], 'readwrite');
  if ((await writing.objectStore('chats').getKey(chatId)) === undefined) return false;
  for (const message of messages) void writing.objectStore('messages').put(message);
  writing.commit();
  tellTabs({ type: 'messages', chatId, messages });
  await writing.done;
  return true;
}

/** As the page is left: without a look whether the chat is there, since nothing is waited for any more. */
export function writeLastMessages(messages: readonly Message[]): void {
  if (ready === null || messages.length === 0) return;
  const writing = ready.transaction('messages', 'readwrite');
  for (const message of messages) void writing.store.put(message);
  writing.commit();
}

/** A whole chat at once: all of it is there, or nothing. */
export async function addChat(chat: Chat, messages: readonly Message[]): Promise<void> {
  const writing = (await database())?.transaction(['chats', 'messages'], 'readwrite');
  void writing?.objectStore('chats').put(chat);
  for (const message of messages) void writing?.objectStore('messages').put(message);
  writing?.commit();
  await writing?.done;
  tellTabs({ type: 'chat', chat });
}

export async function deleteChat(id: string): Promise<void> {
  const deleting = (await database())?.transaction(['chats', 'messages'], 'readwrite');
  if (deleting !== undefined) {
    const messages = deleting.objectStore('messages');
    for (const key of await messages.index('chatId').getAllKeys(id)) void messages.delete(key);
    void deleting.objectStore('chats').delete(id);
    deleting.commit();
    await deleting.done;
  }
  tellTabs({ type: 'deleted', id });
}
