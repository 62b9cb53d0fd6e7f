/** Chats under the days on which they changed last. */
import type { Chat } from './types.ts';

const DAY_MS = 86_400_000;

/** A line of the list: a chat, or what the chats below it have in common. */
export type ChatLine =
  | { readonly kind: 'chat'; readonly id: string; readonly chat: Chat }
  | { readonly kind: 'heading'; readonly id: string; readonly text: string };

/** @param chats the one that changed last first */
export function chatLines(chats: readonly Chat[], now: number): ChatLine[] {
  const lines: ChatLine[] = [];
  let last = '';
  for (const chat of chats) {
    const text = periodOf(chat.changedAt, now);
    if (text !== last) lines.push({ kind: 'heading', id: `heading ${text}`, text });
    last = text;
    lines.push({ kind: 'chat', id: chat.id, chat });
  }
  return lines;
}

/** Such as `Today`, `Last 7 days` and `March 2026`. */
export function periodOf(time: number, now: number): string {
  const today = new Date(now).setHours(0, 0, 0, 0);
  if (time >= today) return 'Today';
  // A day on which clocks change is an hour shorter or longer.
  const days = Math.ceil((today - time) / DAY_MS - 1 / 12);
  if (days <= 1) return 'Yesterday';
  if (days <= 7) return 'Last 7 days';
  if (days <= 30) return 'Last 30 days';
  return new Date(time).toLocaleDateString('en-US', { month: 'long', year: 'numeric' });
}
