/** Light, dark, or as the system has it. */
import { effect, signal } from '@preact/signals';
import { readSetting, writeSetting } from './settings.ts';

const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

export const theme = signal<Theme>(
  THEMES.find((each) => each === readSetting('theme')) ?? 'system',
);

effect(() => {
  if (theme.value === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme.value;
});

export function nextTheme(): void {
  const index = (THEMES.indexOf(theme.value) + 1) % THEMES.length;
  theme.value = THEMES[index] ?? 'system';
  writeSetting('theme', theme.value);
}
