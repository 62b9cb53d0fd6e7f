import { signal } from '@preact/signals';
import { useEffect, useLayoutEffect } from 'preact/hooks';
import { lazy } from '../../components/lazy.tsx';
import { pageTitle } from '../../router.ts';
import './chat.css';
import './chat-list.css';
import './answer.css';
import { addressedChat, followAddress, loadChats, session, startChat } from './model/chats.ts';
import type { ChatSession } from './model/chat-session.ts';
import { Announcer } from './parts/announcer.tsx';
import { ChatHeader } from './parts/chat-header.tsx';
import { ChatList } from './parts/chat-list.tsx';
import { Composer } from './parts/composer.tsx';
import { focusComposer } from './parts/focus.ts';
import { MessageList } from './parts/message-list.tsx';

const SearchDialog = lazy(async () => (await import('./parts/search-dialog.tsx')).SearchDialog);
const SettingsPanel = lazy(async () => (await import('./parts/settings-panel.tsx')).SettingsPanel);

type Side = 'chats' | 'settings' | 'none';

/** Panel next to the conversation; on narrow screens in front of it. */
const side = signal<Side>('none');
const isSearching = signal(false);

export default function ChatView() {
  const current = session.value;
  const { id, title } = current.chat.value;
  const addressed = addressedChat();
  useEffect(() => {
    void loadChats();
    return followAddress();
  }, []);
  useEffect(() => {
    pageTitle.value = title || 'Chat';
  }, [title]);
  useKeys(current);
  const toggle = (which: Side) => (side.value = side.value === which ? 'none' : which);
  const isLoading = addressed !== null && addressed !== id;
  return (
    <div class={`chat with-${side.value}`}>
      <ChatList session={current} onClose={closeList} onSearch={() => (isSearching.value = true)} />
      {side.value !== 'none' && (
        <div class="chat-backdrop" onClick={closeSide} aria-hidden="true" />
      )}
      <section class="conversation" aria-label="Conversation">
        {isLoading ? (
          <div class="loading" aria-busy="true" />
        ) : (
          <>
            <ChatHeader
              session={current}
              onToggleChats={() => toggle('chats')}
              onToggleSettings={() => toggle('settings')}
              opened={side.value}
            />
            <MessageList key={id} session={current} />
            <Composer key={`${id}-composer`} session={current} />
          </>
        )}
      </section>
      {side.value === 'settings' && <SettingsPanel session={current} onClose={closeSide} />}
      {isSearching.value && <SearchDialog onClose={() => (isSearching.value = false)} />}
      <Announcer session={current} />
    </div>
  );
}

/** The focus goes back to the button that opened it. */
function closeSide(): void {
  const closed = side.peek();
  side.value = 'none';
  document.querySelector<HTMLElement>(`[data-opens="${closed}"]`)?.focus();
}

function closeList(): void {
  if (side.peek() === 'chats') closeSide();
}

/** Escape closes what is nearest first, and stops an answer last. */
function useKeys(current: ChatSession): void {
  // Keys would be lost between the answer and an effect after it is drawn.
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.altKey && event.code === 'KeyN') {
        event.preventDefault();
        startChat();
        focusComposer();
      }
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        isSearching.value = true;
      }
      if (event.key !== 'Escape' || event.defaultPrevented) return;
      const target = event.target instanceof Element ? event.target : null;
      if (target?.closest('dialog')) return;
      const panel = target?.closest('.settings, .chat-list');
      const isOver = side.value !== 'none' && matchMedia('(max-width: 1000px)').matches;
      if (side.value !== 'none' && (isOver || panel)) {
        closeSide();
      } else {
        current.stop();
      }
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, [current]);
}
