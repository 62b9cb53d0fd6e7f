/** The API key: in this tab's memory, unless the user wants it kept. */
import { signal } from '@preact/signals';
import { readSetting, writeSetting } from '../settings.ts';

const SETTING = 'key';

/** '' without one. */
export const apiKey = signal(readSetting(SETTING) ?? '');

/** Why a key is asked for; null when it is not. */
export const keyQuestion = signal<string | null>(null);

export function askForKey(reason = 'Sent with every request to this server.'): void {
  keyQuestion.value ??= reason;
}

export function setApiKey(key: string, keeps: boolean): void {
  apiKey.value = key;
  writeSetting(SETTING, keeps && key !== '' ? key : null);
}

export function isKept(): boolean {
  return readSetting(SETTING) !== null;
}
