import { NumberInput } from '../../components/number-input.tsx';
import { DEFAULT_PAD, type PadSettings } from './pad-settings.ts';

interface SettingsFormProps {
  readonly settings: PadSettings;
  readonly onChange: (change: (settings: PadSettings) => PadSettings) => void;
}

const NUMBERS = [
  { name: 'maxTokens', label: 'Max tokens', min: 1, max: 131_072, step: 1 },
  { name: 'temperature', label: 'Temperature', min: 0, max: 2, step: 0.05 },
  { name: 'topP', label: 'Top p', min: 0.01, max: 1, step: 0.01 },
  { name: 'alternatives', label: 'Alternatives shown', min: 0, max: 20, step: 1 },
] as const;

export function SettingsForm({ settings, onChange }: SettingsFormProps) {
  const set = (change: Partial<PadSettings>) => onChange((now) => ({ ...now, ...change }));
  return (
    <section aria-labelledby="pad-settings">
      <h2 id="pad-settings">Settings</h2>
      <div class="pad-numbers">
        {NUMBERS.map(({ name, label, min, max, step }) => (
          <label key={name} class="field">
            {label}
            <NumberInput
              value={settings[name]}
              min={min}
              max={max}
              step={step}
              whenEmpty={DEFAULT_PAD[name]}
              onChange={(value) => set({ [name]: value })}
            />
          </label>
        ))}
        <label class="field">
          Seed
          <input
            inputMode="numeric"
            placeholder="random"
            value={settings.seed}
            onInput={(event) => set({ seed: event.currentTarget.value.trim() })}
          />
        </label>
      </div>
      <label class="field">
        Stop sequences
        <textarea
          class="code"
          rows={2}
          placeholder={String.raw`One per line; \n is a line break`}
          value={settings.stop}
          onInput={(event) => set({ stop: event.currentTarget.value })}
        />
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={settings.echo}
          onChange={(event) => set({ echo: event.currentTarget.checked })}
        />
        Color my text too (echo)
      </label>
    </section>
  );
}
