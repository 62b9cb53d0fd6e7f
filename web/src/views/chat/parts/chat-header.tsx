import { Icon } from '../../../components/icon.tsx';
import type { ChatSession } from '../model/chat-session.ts';
import { startChat } from '../model/chats.ts';
import { ChatMenu } from './chat-menu.tsx';
import { ModelPicker } from './model-picker.tsx';

interface ChatHeaderProps {
  readonly session: ChatSession;
  readonly onToggleChats: () => void;
  readonly onToggleSettings: () => void;
  readonly isSettingsOpen: boolean;
}

export function ChatHeader(props: ChatHeaderProps) {
  const { session, onToggleChats, onToggleSettings, isSettingsOpen } = props;
  const { title, settings } = session.chat.value;
  return (
    <header class="chat-header">
      <button class="quiet only-narrow" onClick={onToggleChats} aria-label="Chats" title="Chats">
        <Icon name="menu" />
      </button>
      <h1>{title || 'New chat'}</h1>
      <ModelPicker model={settings.model} onPick={(model) => session.setSettings({ model })} />
      <button class="quiet only-narrow" onClick={startChat} aria-label="New chat" title="New chat">
        <Icon name="plus" />
      </button>
      <button
        class="quiet"
        onClick={onToggleSettings}
        aria-pressed={isSettingsOpen}
        aria-label="Settings"
        title="Settings"
      >
        <Icon name="sliders" />
      </button>
      <ChatMenu session={session} />
    </header>
  );
}
