import { useEffect, useRef } from 'preact/hooks';
import { chatModels, defaultChatModel } from '../../../api/models.ts';
import { Icon } from '../../../components/icon.tsx';
import type { ChatSession } from '../model/chat-session.ts';
import { OutputSettings } from './output-settings.tsx';
import { ParameterSettings } from './parameter-settings.tsx';
import { PresetSettings } from './preset-settings.tsx';
import { ToolSettings } from './tool-settings.tsx';
import '../settings.css';

interface SettingsPanelProps {
  readonly session: ChatSession;
  readonly onClose: () => void;
}

/** For this chat; new chats begin with the same, without the system prompt. */
export function SettingsPanel({ session, onClose }: SettingsPanelProps) {
  const { settings } = session.chat.value;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <aside class="settings" aria-label="Settings">
      <header>
        <h2 ref={heading} tabIndex={-1}>
          Settings
        </h2>
        <button class="quiet" onClick={onClose} aria-label="Close settings">
          <Icon name="close" />
        </button>
      </header>
      <PresetSettings session={session} />
      <label class="field">
        System prompt
        <textarea
          rows={3}
          value={settings.system}
          placeholder="What the model should know or be"
          onInput={({ currentTarget }) => session.setSettings({ system: currentTarget.value })}
        />
      </label>
      <OutputSettings session={session} />
      <label class="check">
        <input
          type="checkbox"
          checked={settings.logprobs}
          onChange={({ currentTarget }) => session.setSettings({ logprobs: currentTarget.checked })}
        />
        Show tokens and their alternatives
      </label>
      <AlsoModels session={session} />
      <ParameterSettings key={session.chat.value.id} session={session} />
      <ToolSettings session={session} />
    </aside>
  );
}

/** Further models that answer each question, side by side with the first. */
function AlsoModels({ session }: { readonly session: ChatSession }) {
  const { alsoModels, model } = session.chat.value.settings;
  const first = model ?? defaultChatModel.value?.id;
  const others = chatModels.value.filter(({ id }) => id !== first);
  if (others.length === 0) return null;
  return (
    <fieldset>
      <legend>Answer side by side with</legend>
      {others.map(({ id }) => (
        <label key={id} class="check">
          <input
            type="checkbox"
            checked={alsoModels.includes(id)}
            onChange={({ currentTarget }) => {
              const rest = alsoModels.filter((each) => each !== id);
              session.setSettings({ alsoModels: currentTarget.checked ? [...rest, id] : rest });
            }}
          />
          {id}
        </label>
      ))}
    </fieldset>
  );
}
