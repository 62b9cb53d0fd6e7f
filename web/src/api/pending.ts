/** Generations of this page that wait for their first token, and what they wait for. */
import { computed, effect, signal } from '@preact/signals';
import { formatDuration } from '../format.ts';
import { isServerAway } from './connection.ts';
import { isChanging, models, refreshModels } from './models.ts';
import { requestJson, ServerError } from './request.ts';

interface Pending {
  /** Its `x-request-id`. */
  readonly id: string;
  /** Null for the server's choice. */
  readonly model: string | null;
  readonly since: number;
}

interface ListedRequest {
  readonly id: string;
  readonly model: string;
  readonly state: string;
}

/** Time in milliseconds below which a wait needs no words. */
const QUICK_MS = 1000;
const LOOK_MS = 1000;

const pending = signal<readonly Pending[]>([]);
/** Place of the first that waits: 1 is next. Null where it is not known, or not in the queue. */
const place = signal<number | null>(null);
const now = signal(0);
/** The list of requests is the operator's, where the server has one and this page's user is not. */
let mayLook = true;

/** @returns the id to send, and what to call when the first token is there, or nothing will come */
export function beginWaiting(model: string | null): { readonly id: string; end: () => void } {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  const entry: Pending = { id: `page-${hex}`, model, since: Date.now() };
  pending.value = [...pending.peek(), entry];
  return {
    id: entry.id,
    end() {
      pending.value = pending.peek().filter((each) => each !== entry);
    },
  };
}

/** Why nothing comes, in a sentence; null while all is as it should be. */
export const waitReason = computed((): string | null => {
  if (isServerAway.value) return 'The server does not answer. Trying again …';
  const [first] = pending.value;
  if (first === undefined || now.value - first.since < QUICK_MS) return null;
  const seconds = formatDuration(now.value - first.since);
  const model = models.value?.find(({ id }) => id === first.model);
  if (model !== undefined && isChanging(model)) {
    const doing = { downloading: 'downloaded', building: 'built', draining: 'unloaded' }[
      model.status.value as string
    ];
    return `The model ${model.id} is being ${doing ?? 'loaded'}, for ${seconds} so far …`;
  }
  if (place.value !== null) return `In the queue: place ${place.value}, for ${seconds} so far …`;
  return null;
});

effect(() => {
  if (pending.value.length === 0) return;
  const timer = setInterval(() => void look(), LOOK_MS);
  now.value = Date.now();
  place.value = null;
  return () => clearInterval(timer);
});

async function look(): Promise<void> {
  now.value = Date.now();
  if (isServerAway.peek()) return;
  refreshModels();
  const [first] = pending.peek();
  if (first === undefined || !mayLook) return;
  try {
    const { data } = await requestJson<{ data: readonly ListedRequest[] }>('/v1/requests');
    const own = data.find(({ id }) => id === first.id);
    const waiting = data.filter(({ state, model }) => state === 'waiting' && model === own?.model);
    const at = waiting.findIndex(({ id }) => id === first.id);
    place.value = at < 0 ? null : at + 1;
  } catch (error) {
    if (error instanceof ServerError && error.status === 403) mayLook = false;
  }
}
