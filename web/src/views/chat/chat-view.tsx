import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { watchModels } from '../../api/models.ts';
import './chat.css';
import './answer.css';
import './settings.css';
import { loadChats, session, startChat } from './model/chats.ts';
import { ChatHeader } from './parts/chat-header.tsx';
import { ChatList } from './parts/chat-list.tsx';
import { Composer } from './parts/composer.tsx';
import { MessageList } from './parts/message-list.tsx';
import { SettingsPanel } from './parts/settings-panel.tsx';

/** What is beside the conversation; on narrow screens in front of it. */
const side = signal<'chats' | 'settings' | 'none'>('none');

export default function ChatView() {
  const current = session.value;
  useEffect(() => {
    void loadChats();
    return watchModels();
  }, []);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      // What closes a dialog stops nothing.
      const isInside = event.target instanceof Element && event.target.closest('dialog') !== null;
      if (event.key === 'Escape' && !event.defaultPrevented && !isInside) current.stop();
      if (event.altKey && event.code === 'KeyN') startChat();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, [current]);
  const toggle = (which: 'chats' | 'settings') =>
    (side.value = side.value === which ? 'none' : which);
  return (
    <div class={`chat with-${side.value}`}>
      <ChatList session={current} onPicked={() => (side.value = 'none')} />
      <section class="conversation" aria-label="Conversation">
        <ChatHeader
          session={current}
          onToggleChats={() => toggle('chats')}
          onToggleSettings={() => toggle('settings')}
          isSettingsOpen={side.value === 'settings'}
        />
        <MessageList key={current.chat.value.id} session={current} />
        <Composer key={`${current.chat.value.id}-composer`} session={current} />
      </section>
      {side.value === 'settings' && (
        <SettingsPanel session={current} onClose={() => (side.value = 'none')} />
      )}
    </div>
  );
}
