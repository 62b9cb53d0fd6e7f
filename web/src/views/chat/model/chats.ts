/** All chats of this browser, and which one is open. */
import { effect, signal } from '@preact/signals';
import { notify } from '../../../components/notices.tsx';
import { navigate, path } from '../../../router.ts';
import { CHATS } from '../../../routes.ts';
import { readSetting, writeSetting } from '../../../settings.ts';
import { onNote, tellTabs } from './chat-channel.ts';
import { ChatSession } from './chat-session.ts';
import { addChat, deleteChat, readChat, readChats, readMessages, writeChat } from './chat-store.ts';
import { setDraft, writeDrafts } from './drafts.ts';
import { newId } from './new-id.ts';
import { type Chat, type ChatSettings, DEFAULT_SETTINGS, type Message } from './types.ts';

/** Settings for new chats: those of the last one. */
const SETTING = 'chat-settings';

/** The one that changed last first; new ones once they have a message. Null until they are read. */
export const chats = signal<readonly Chat[] | null>(null);
export const session = signal<ChatSession>(newSession());

/** Sessions with answers that are being written go on while another chat is shown. */
const open = new Map<string, ChatSession>();

/** Search hit in a chat that is about to be shown. */
let sought: { readonly chatId: string; readonly messageId: string } | null = null;

export function chatAddress(id: string): string {
  return `${CHATS}${id}`;
}

/** Id of the chat that the address names; null for a new one, and in other views. */
export function addressedChat(): string | null {
  return path.value.startsWith(CHATS) ? path.value.slice(CHATS.length) : null;
}

/** Shows what the address names, whenever that changes, until the function that it returns is called. */
export function followAddress(): () => void {
  return effect(() => {
    const id = addressedChat();
    if (path.value !== '/' && id === null) return;
    const current = session.peek();
    const isNew = current.chat.peek().title === '';
    if (id === null && !isNew) show(newSession());
    else if (id !== null && id !== current.chat.peek().id) void openChat(id);
  });
}

export async function loadChats(): Promise<void> {
  chats.value = await readChats();
}

export function startChat(): void {
  navigate('/');
}

/** @param messageId is brought into sight; null for the chat as it was left */
export function openChatAt(chatId: string, messageId: string | null): void {
  sought = messageId === null ? null : { chatId, messageId };
  if (session.peek().chat.peek().id === chatId) reveal(session.peek());
  navigate(chatAddress(chatId));
}

export async function renameChat(chat: Chat, title: string): Promise<void> {
  const opened = sessionOf(chat.id);
  if (opened !== undefined) {
    opened.rename(title);
    return;
  }
  const renamed = { ...chat, title };
  list(renamed);
  await writeChat(renamed);
}

/** Takes a chat away, and can bring it back for some seconds. */
export async function removeChat(chat: Chat): Promise<void> {
  const { id } = chat;
  sessionOf(id)?.stop();
  const messages = await readMessages(id);
  forget(id);
  await deleteChat(id);
  notify(`“${chat.title}” was deleted.`, false, {
    label: 'Undo',
    onClick: () => void addChats([{ chat, messages }]),
  });
}

/** Stores chats from elsewhere, and opens the first. */
export async function addChats(
  added: readonly { readonly chat: Chat; readonly messages: readonly Message[] }[],
): Promise<void> {
  for (const { chat, messages } of added) await addChat(chat, messages);
  await loadChats();
  const [first] = added;
  if (first !== undefined) navigate(chatAddress(first.chat.id));
}

async function openChat(id: string): Promise<void> {
  const opened = open.get(id) ?? (await readSession(id));
  // Another one may have been picked meanwhile.
  if (addressedChat() !== id) return;
  if (opened !== null) {
    show(opened);
    return;
  }
  notify('There is no such chat in this browser.', true);
  navigate('/', true);
}

async function readSession(id: string): Promise<ChatSession | null> {
  const [chat, messages] = await Promise.all([readChat(id), readMessages(id)]);
  return chat === undefined ? null : new ChatSession(chat, messages, onChange);
}

function show(next: ChatSession): void {
  const left = session.peek();
  if (left.isRunning.peek()) open.set(left.chat.peek().id, left);
  session.value = next;
  reveal(next);
  tellTabs({ type: 'opened', chatId: next.chat.peek().id });
}

function reveal(shown: ChatSession): void {
  if (sought?.chatId === shown.chat.peek().id) shown.reveal(sought.messageId);
  sought = null;
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

function sessionOf(id: string): ChatSession | undefined {
  const current = session.peek();
  return current.chat.peek().id === id ? current : open.get(id);
}

function onChange(chat: Chat): void {
  writeSetting(SETTING, JSON.stringify(chat.settings));
  if (chat.title === '') return;
  list(chat);
  // A chat has its address with its first message.
  const isShown = session.peek().chat.peek().id === chat.id;
  if (isShown && path.peek() === '/') navigate(chatAddress(chat.id), true);
}

/** In its place by when it changed last. */
function list(chat: Chat): void {
  const others = (chats.peek() ?? []).filter(({ id }) => id !== chat.id);
  const after = others.findIndex(({ changedAt }) => changedAt <= chat.changedAt);
  chats.value = others.toSpliced(after < 0 ? others.length : after, 0, chat);
}

/** Takes a chat off the list, and off the page. */
function forget(id: string): void {
  open.delete(id);
  setDraft(id, { text: '', attachments: [] });
  chats.value = (chats.peek() ?? []).filter((chat) => chat.id !== id);
  if (session.peek().chat.peek().id !== id) return;
  session.value = newSession();
  if (addressedChat() === id) navigate('/', true);
}

function lastSettings(): ChatSettings {
  try {
    const stored = JSON.parse(readSetting(SETTING) ?? '{}') as Partial<ChatSettings>;
    return { ...DEFAULT_SETTINGS, ...stored, system: '' };
  } catch {
    return DEFAULT_SETTINGS;
  }
}

onNote((note) => {
  switch (note.type) {
    case 'chat':
      list(note.chat);
      sessionOf(note.chat.id)?.takeChat(note.chat);
      break;
    case 'deleted': {
      const isShown = session.peek().chat.peek().id === note.id;
      sessionOf(note.id)?.stop();
      forget(note.id);
      if (isShown) notify('This chat was deleted in another tab.');
      break;
    }
    case 'messages':
      sessionOf(note.chatId)?.takeMessages(note.messages);
      break;
    case 'opened':
      sessionOf(note.chatId)?.tellTab();
      break;
  }
});

addEventListener('pagehide', () => {
  for (const each of [session.peek(), ...open.values()]) each.leave();
  writeDrafts();
});
