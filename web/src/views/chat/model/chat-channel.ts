/** Notes that the tabs of this browser send each other on their chats. */
import type { Chat, Message } from './types.ts';

export type ChatNote =
  /** A chat is new, or has changed. */
  | { readonly type: 'chat'; readonly chat: Chat }
  | { readonly type: 'deleted'; readonly id: string }
  /** Messages are new, or have grown. */
  | { readonly type: 'messages'; readonly chatId: string; readonly messages: readonly Message[] }
  /** A tab has opened a chat, and asks for answers to it that are being written elsewhere. */
  | { readonly type: 'opened'; readonly chatId: string };

/** Where there is none, as in old browsers, tabs do not know of each other. */
const channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel('chairlift-chats') : null;

export function tellTabs(note: ChatNote): void {
  // oxlint-disable-next-line require-post-message-target-origin -- it has none: it is no window
  channel?.postMessage(note);
}

export function onNote(listener: (note: ChatNote) => void): void {
  channel?.addEventListener('message', ({ data }) => listener(data as ChatNote));
}
