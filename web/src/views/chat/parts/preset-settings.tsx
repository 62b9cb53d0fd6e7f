import { useState } from 'preact/hooks';
import { Icon } from '../../../components/icon.tsx';
import { notify } from '../../../components/notices.tsx';
import type { ChatSession } from '../model/chat-session.ts';
import { deletePreset, presetOf, presets, savePreset } from '../model/presets.ts';

/** Settings by a name: system prompt, format, parameters and tools. */
export function PresetSettings({ session }: { readonly session: ChatSession }) {
  const [isNamed, setNamed] = useState(false);
  const [name, setName] = useState('');
  const { settings } = session.chat.value;
  const current = presetOf(settings);
  if (isNamed) {
    return (
      <form
        class="preset-name"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() === '') return;
          savePreset(name.trim(), settings);
          setNamed(false);
        }}
      >
        <label class="field">
          Name of the preset
          <input
            autofocus
            maxLength={60}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== 'Escape') return;
              event.preventDefault();
              setNamed(false);
            }}
          />
        </label>
        <button class="primary" disabled={name.trim() === ''}>
          Save
        </button>
      </form>
    );
  }
  return (
    <div class="presets-row">
      <label class="field">
        Preset
        <select
          value={current?.name ?? ''}
          onChange={({ currentTarget }) => {
            const picked = presets.peek().find((each) => each.name === currentTarget.value);
            if (picked !== undefined) session.setSettings(picked.settings);
          }}
        >
          <option value="">{presets.value.length === 0 ? 'None yet' : 'Custom'}</option>
          {presets.value.map((preset) => (
            <option key={preset.name}>{preset.name}</option>
          ))}
        </select>
      </label>
      <button
        type="button"
        onClick={() => {
          setName(current?.name ?? '');
          setNamed(true);
        }}
      >
        Save as …
      </button>
      {current !== undefined && (
        <button
          type="button"
          class="quiet"
          aria-label={`Delete the preset ${current.name}`}
          title="Delete this preset"
          onClick={() => {
            const { name: deleted, settings: kept } = current;
            deletePreset(deleted);
            notify(`The preset “${deleted}” was deleted.`, false, {
              label: 'Undo',
              onClick: () => savePreset(deleted, { ...settings, ...kept }),
            });
          }}
        >
          <Icon name="trash" />
        </button>
      )}
    </div>
  );
}
