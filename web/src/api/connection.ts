/** Whether the server answers. Every request of the page says so here, and a few of its own. */
import { signal } from '@preact/signals';
import { ROOT } from '../root.ts';

export const isServerAway = signal(false);

const RETRY_MS = 1000;
const CHECK_TIMEOUT_MS = 5000;

let timer: ReturnType<typeof setTimeout> | undefined;

/** A request was answered, however. */
export function noteAnswer(): void {
  isServerAway.value = false;
  clearTimeout(timer);
  timer = undefined;
}

/** A request was not answered: it is looked for the server until it is back. */
export function noteSilence(): void {
  isServerAway.value = true;
  timer ??= setTimeout(() => void look(), RETRY_MS);
}

async function look(): Promise<void> {
  timer = undefined;
  try {
    await fetch(`${ROOT}/livez`, { signal: AbortSignal.timeout(CHECK_TIMEOUT_MS) });
    noteAnswer();
  } catch {
    noteSilence();
  }
}

/** Reason of an error, for people. */
export function reasonOf(error: unknown): string {
  // Error of fetch: there was no connection, or it broke.
  if (error instanceof TypeError) return 'The server does not answer.';
  return error instanceof Error ? error.message : String(error);
}

/** The browser's own fetch, which notes whether the server is there. */
export const watchedFetch: typeof fetch = async (input, init) => {
  try {
    const response = await fetch(input, init);
    noteAnswer();
    return response;
  } catch (error) {
    if (error instanceof TypeError) noteSilence();
    throw error;
  }
};
