/** Named settings that this browser keeps. */
import { signal } from '@preact/signals';
import { readSetting, writeSetting } from '../../../settings.ts';
import { readSettings } from './export.ts';
import { type ChatSettings, DEFAULT_SETTINGS } from './types.ts';

const SETTING = 'presets';

/** All settings of a chat but its models. */
export type PresetSettings = Omit<ChatSettings, 'model' | 'alsoModels'>;

export interface Preset {
  readonly name: string;
  readonly settings: PresetSettings;
}

/** In order of name. */
export const presets = signal<readonly Preset[]>(readPresets());

/** One of the same name is replaced. */
export function savePreset(name: string, settings: ChatSettings): void {
  const others = presets.peek().filter((each) => each.name !== name);
  keep([...others, { name, settings: withoutModels(settings) }]);
}

export function deletePreset(name: string): void {
  keep(presets.peek().filter((each) => each.name !== name));
}

/** The preset that settings are equal to. */
export function presetOf(settings: ChatSettings): Preset | undefined {
  const wanted = JSON.stringify(withoutModels(settings));
  return presets.value.find((each) => JSON.stringify(each.settings) === wanted);
}

/** In an order of their own, so that equal settings are equal texts. */
function withoutModels(settings: ChatSettings): PresetSettings {
  const { system, parameters, output, schema, tools, toolChoice, logprobs } = settings;
  const sorted = Object.entries(parameters).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    system,
    parameters: Object.fromEntries(sorted),
    output,
    schema,
    tools,
    toolChoice,
    logprobs,
  };
}

function keep(changed: readonly Preset[]): void {
  presets.value = changed.toSorted((a, b) => a.name.localeCompare(b.name));
  writeSetting(SETTING, JSON.stringify(presets.value));
}

function readPresets(): Preset[] {
  try {
    const stored: unknown = JSON.parse(readSetting(SETTING) ?? '[]');
    const entries: readonly unknown[] = Array.isArray(stored) ? stored : [];
    return entries.flatMap((entry) => {
      const { name, settings } = Object(entry) as { name?: unknown; settings?: unknown };
      if (typeof name !== 'string') return [];
      const known = readSettings(Object(settings) as Record<string, unknown>);
      return [{ name, settings: withoutModels({ ...DEFAULT_SETTINGS, ...known }) }];
    });
  } catch {
    return [];
  }
}
