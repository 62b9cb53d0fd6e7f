/** Finds chats by what was said in them. */
import { allMessages } from './chat-store.ts';
import type { Chat } from './types.ts';

/** Hit in one message of a chat. */
export interface SearchHit {
  readonly chat: Chat;
  /** Null where it is the title. */
  readonly messageId: string | null;
  /** Text around the first place, in three parts: before it, the place itself, after it. */
  readonly snippet: readonly [before: string, found: string, after: string];
}

const MAX_HITS = 50;
const CONTEXT_CHARACTERS = 60;

/**
 * Hits in titles come first, then those in messages, a message of each chat.
 * @param listed the newest first
 * @param signal ends it early
 */
export async function searchChats(
  text: string,
  listed: readonly Chat[],
  signal: AbortSignal,
): Promise<SearchHit[]> {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return [];
  const hits: SearchHit[] = listed.flatMap((chat) => {
    const snippet = snippetOf(chat.title, wanted);
    return snippet === null ? [] : [{ chat, messageId: null, snippet }];
  });
  const found = new Map<string, SearchHit>();
  const byId = new Map(listed.map((chat) => [chat.id, chat]));
  for await (const { id, chatId, content } of allMessages()) {
    if (signal.aborted || found.size >= MAX_HITS) break;
    const chat = byId.get(chatId);
    if (chat === undefined || found.has(chatId)) continue;
    const snippet = snippetOf(content, wanted);
    if (snippet !== null) found.set(chatId, { chat, messageId: id, snippet });
  }
  const newestFirst = [...found.values()].toSorted((a, b) => b.chat.changedAt - a.chat.changedAt);
  return [...hits, ...newestFirst].slice(0, MAX_HITS);
}

/** @param wanted in lower case */
export function snippetOf(text: string, wanted: string): SearchHit['snippet'] | null {
  const at = text.toLowerCase().indexOf(wanted);
  if (at < 0) return null;
  const from = Math.max(0, at - CONTEXT_CHARACTERS);
  const end = at + wanted.length;
  const flat = (part: string) => part.replaceAll(/\s+/g, ' ');
  return [
    `${from > 0 ? '…' : ''}${flat(text.slice(from, at))}`,
    flat(text.slice(at, end)),
    flat(text.slice(end, end + 2 * CONTEXT_CHARACTERS)),
  ];
}
