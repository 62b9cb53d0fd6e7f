/** The API key: in this tab's memory, unless the user wants it kept. */
import { signal } from '@preact/signals';
import { readSetting, writeSetting } from '../settings.ts';

const SETTING = 'key';

/** '' without one. */
export const apiKey = signal(readSetting(SETTING) ?? '');

export interface KeyQuestion {
  readonly reason: string;
  /** The server has refused the key that there is. */
  readonly isRefused: boolean;
}

/** Why a key is asked for; null when it is not. */
export const keyQuestion = signal<KeyQuestion | null>(null);

/** The question was waved away, and no key was given since. */
let isWavedAway = false;

/** Callbacks of requests that wait for the answer. */
const waiting: ((isGiven: boolean) => void)[] = [];

export function askForKey(reason = 'It is sent with every request to this server.'): void {
  keyQuestion.value ??= { reason, isRefused: false };
}

/**
 * For a request that the server has refused for its key.
 * @param sent the key that it had
 * @param isBackground it is the page's own: the user is not asked a second time for it
 * @returns whether there is another key now
 */
export function anotherKey(
  sent: string,
  leaving: AbortSignal | undefined,
  isBackground: boolean,
): Promise<boolean> {
  if (apiKey.peek() !== sent) return Promise.resolve(true);
  if (isBackground && isWavedAway) return Promise.resolve(false);
  const isRefused = sent !== '';
  const reason = isRefused
    ? 'The server says that this key is not valid. Check it for typing errors, or ask whoever runs the server.'
    : 'This server wants an API key.';
  keyQuestion.value ??= { reason, isRefused };
  return new Promise((resolve, reject) => {
    waiting.push(resolve);
    leaving?.addEventListener('abort', () => reject(leaving.reason as Error), { once: true });
  });
}

/** The question is answered, or waved away. */
export function closeQuestion(isGiven: boolean): void {
  isWavedAway = !isGiven;
  keyQuestion.value = null;
  for (const answer of waiting.splice(0)) answer(isGiven);
}

export function setApiKey(key: string, keeps: boolean): void {
  apiKey.value = key;
  writeSetting(SETTING, keeps && key !== '' ? key : null);
}

export function isKept(): boolean {
  return readSetting(SETTING) !== null;
}
