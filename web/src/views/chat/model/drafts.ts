/** Drafts that are typed and not sent yet, by chat: they outlive other chats, other views and a reload. */
import { readSetting, writeSetting } from '../../../settings.ts';
import type { Attachment } from './types.ts';

const SETTING = 'drafts';
/** Characters of a draft, and drafts, that outlive a reload. */
const MAX_CHARACTERS = 50_000;
const MAX_DRAFTS = 20;
const WRITE_MS = 300;

/** In place of a chat's id, for what is typed before there is a chat. */
export const NEW_CHAT = 'new';

export interface Draft {
  readonly text: string;
  /** Lost with a reload. */
  readonly attachments: readonly Attachment[];
}

const EMPTY: Draft = { text: '', attachments: [] };

let drafts: Map<string, Draft> | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

function all(): Map<string, Draft> {
  drafts ??= new Map(readDrafts().map(([id, text]) => [id, { text, attachments: [] }]));
  return drafts;
}

export function draftOf(chatId: string): Draft {
  return all().get(chatId) ?? EMPTY;
}

export function setDraft(chatId: string, draft: Draft): void {
  // The newest last.
  all().delete(chatId);
  if (draft.text !== '' || draft.attachments.length > 0) all().set(chatId, draft);
  clearTimeout(timer);
  timer = setTimeout(writeDrafts, WRITE_MS);
}

/** Now, since the page is about to be left. */
export function writeDrafts(): void {
  const kept = [...all()]
    .filter(([, { text }]) => text !== '' && text.length <= MAX_CHARACTERS)
    .map(([id, { text }]) => [id, text] as const)
    .slice(-MAX_DRAFTS);
  writeSetting(SETTING, kept.length === 0 ? null : JSON.stringify(kept));
}

function readDrafts(): (readonly [string, string])[] {
  try {
    const stored: unknown = JSON.parse(readSetting(SETTING) ?? '[]');
    const entries: readonly unknown[] = Array.isArray(stored) ? stored : [];
    return entries.flatMap((entry) => {
      const [id, text] = Array.isArray(entry) ? (entry as unknown[]) : [];
      return typeof id === 'string' && typeof text === 'string' ? [[id, text] as const] : [];
    });
  } catch {
    return [];
  }
}
