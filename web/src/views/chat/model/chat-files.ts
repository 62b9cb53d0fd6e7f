/** Chats to files and back. */
import { notify } from '../../../components/notices.tsx';
import { saveFile } from '../../../components/save-file.ts';
import type { ChatSession } from './chat-session.ts';
import { readMessages } from './chat-store.ts';
import { addChats, chats } from './chats.ts';
import { fromJson, toJson, toMarkdown } from './export.ts';

/** The branch that is shown, for people. */
export function saveMarkdown(session: ChatSession): void {
  const text = toMarkdown(session.chat.peek(), session.path());
  saveFile(`${nameOf(session)}.md`, text, 'text/markdown');
}

/** All branches, for this page. */
export function saveChat(session: ChatSession): void {
  const json = toJson([{ chat: session.chat.peek(), messages: session.allMessages() }]);
  saveFile(`${nameOf(session)}.json`, json, 'application/json');
}

export async function saveAll(): Promise<void> {
  const all = await Promise.all(
    (chats.peek() ?? []).map(async (chat) => ({ chat, messages: await readMessages(chat.id) })),
  );
  saveFile('chats.json', toJson(all), 'application/json');
}

/** Tells the user what is wrong with a file. */
export async function importChats(files: readonly File[]): Promise<void> {
  for (const file of files) {
    try {
      await addChats(fromJson(await file.text()));
    } catch (error) {
      notify(`${file.name}: ${error instanceof Error ? error.message : String(error)}`, true);
    }
  }
}

function nameOf(session: ChatSession): string {
  const { title } = session.chat.peek();
  return (title || 'chat').replaceAll(/[^\p{L}\p{N}]+/gu, '-').toLowerCase();
}
