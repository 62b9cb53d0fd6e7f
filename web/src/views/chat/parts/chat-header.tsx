import { useState } from 'preact/hooks';
import { Icon } from '../../../components/icon.tsx';
import type { ChatSession } from '../model/chat-session.ts';
import { startChat } from '../model/chats.ts';
import { changedSettings } from '../model/changed-settings.ts';
import { ChatMenu } from './chat-menu.tsx';
import { ModelPicker } from './model-picker.tsx';
import { TitleField } from './title-field.tsx';

interface ChatHeaderProps {
  readonly session: ChatSession;
  readonly onToggleChats: () => void;
  readonly onToggleSettings: () => void;
  /** Panel next to the conversation. */
  readonly opened: 'chats' | 'settings' | 'none';
}

export function ChatHeader(props: ChatHeaderProps) {
  const { session, onToggleChats, onToggleSettings, opened } = props;
  const [isRenamed, setRenamed] = useState(false);
  const { title, settings } = session.chat.value;
  const changed = changedSettings(settings);
  const about = changed.length === 0 ? 'Settings' : `Settings: ${changed.join(', ')}`;
  return (
    <header class="chat-header">
      <button
        class="quiet only-narrow"
        data-opens="chats"
        onClick={onToggleChats}
        aria-expanded={opened === 'chats'}
        aria-label="Chats"
        title="Chats"
      >
        <Icon name="menu" />
      </button>
      {isRenamed ? (
        <TitleField
          title={title}
          onDone={(text) => {
            session.rename(text);
            setRenamed(false);
          }}
        />
      ) : (
        <h1 title={title}>{title || 'New chat'}</h1>
      )}
      <ModelPicker
        model={settings.model}
        isAnswering={session.isRunning.value}
        onPick={(model) => session.setSettings({ model })}
      />
      <button class="quiet only-narrow" onClick={startChat} aria-label="New chat" title="New chat">
        <Icon name="plus" />
      </button>
      <button
        class="quiet"
        data-opens="settings"
        onClick={onToggleSettings}
        aria-pressed={opened === 'settings'}
        aria-label={changed.length === 0 ? 'Settings' : `Settings, ${changed.length} set`}
        title={about}
      >
        <Icon name="sliders" />
        {changed.length > 0 && <span class="count">{changed.length}</span>}
      </button>
      <ChatMenu session={session} onRename={() => setRenamed(true)} />
    </header>
  );
}
