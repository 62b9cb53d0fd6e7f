/** All chats of this browser, and which one is open. */
import { signal } from '@preact/signals';
import { readSetting, writeSetting } from '../../../settings.ts';
import { ChatSession } from './chat-session.ts';
import { deleteChat, readChats, readMessages, writeChat, writeMessages } from './chat-store.ts';
import { newId } from './new-id.ts';
import { type Chat, type ChatSettings, DEFAULT_SETTINGS, type Message } from './types.ts';

/** What new chats begin with: what the last one had. */
const SETTING = 'chat-settings';

/** The one that changed last first; new ones once they have a message. */
export const chats = signal<readonly Chat[]>([]);
export const session = signal<ChatSession>(newSession());

/** Sessions with answers that are being written go on while another chat is shown. */
const open = new Map<string, ChatSession>();

export async function loadChats(): Promise<void> {
  chats.value = await readChats();
}

export function startChat(): void {
  keep(session.peek());
  session.value = newSession();
}

export async function openChat(chat: Chat): Promise<void> {
  keep(session.peek());
  session.value = open.get(chat.id) ?? new ChatSession(chat, await readMessages(chat.id), onChange);
}

export async function removeChat({ id }: Chat): Promise<void> {
  const current = session.peek();
  (current.chat.peek().id === id ? current : open.get(id))?.stop();
  open.delete(id);
  if (current.chat.peek().id === id) session.value = newSession();
  chats.value = chats.peek().filter((chat) => chat.id !== id);
  await deleteChat(id);
}

/** Stores chats from elsewhere, and opens the first. */
export async function addChats(
  added: readonly { readonly chat: Chat; readonly messages: readonly Message[] }[],
): Promise<void> {
  for (const { chat, messages } of added) {
    await writeMessages(messages);
    await writeChat(chat);
  }
  await loadChats();
  const [first] = added;
  if (first !== undefined) await openChat(first.chat);
}

function newSession(): ChatSession {
  const now = Date.now();
  const chat: Chat = {
    id: newId(),
    title: '',
    createdAt: now,
    changedAt: now,
    settings: lastSettings(),
    chosen: {},
  };
  return new ChatSession(chat, [], onChange);
}

function keep(left: ChatSession): void {
  if (left.isRunning.peek()) open.set(left.chat.peek().id, left);
}

function onChange(chat: Chat): void {
  writeSetting(SETTING, JSON.stringify(chat.settings));
  if (chat.title === '') return;
  chats.value = [chat, ...chats.peek().filter(({ id }) => id !== chat.id)];
}

function lastSettings(): ChatSettings {
  try {
    const stored = JSON.parse(readSetting(SETTING) ?? '{}') as Partial<ChatSettings>;
    return { ...DEFAULT_SETTINGS, ...stored, system: '' };
  } catch {
    return DEFAULT_SETTINGS;
  }
}
