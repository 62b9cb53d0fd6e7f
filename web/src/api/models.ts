/** The models that this server has, and their states. */
import { computed, signal } from '@preact/signals';
import type { ModelState } from '../../../src/front/registry/model-state.ts';
import { apiKey } from './key.ts';
import { requestJson } from './request.ts';

export interface Model {
  readonly id: string;
  /** Longest prompt plus answer in tokens; null where that is not known. */
  readonly max_model_len: number | null;
  /** Such as `chat`; null where that is not known. */
  readonly capabilities: readonly string[] | null;
  readonly status: {
    readonly value: ModelState;
    /** Why it can't be used. */
    readonly reason?: string;
  };
}

const CHANGING: ReadonlySet<string> = new Set(['downloading', 'building', 'loading', 'draining']);
const CHANGING_MS = 1000;
const STEADY_MS = 15_000;

/** Null until the server has told them. */
export const models = signal<readonly Model[] | null>(null);

export const chatModels = computed(() =>
  (models.value ?? []).filter(({ capabilities }) => capabilities?.includes('chat') ?? true),
);

let timer: ReturnType<typeof setTimeout> | undefined;
let numWatching = 0;

/** Keeps `models` up to date until the function that it returns is called. */
export function watchModels(): () => void {
  numWatching += 1;
  const unsubscribe = apiKey.subscribe(() => refreshModels());
  return () => {
    unsubscribe();
    numWatching -= 1;
    if (numWatching === 0) clearTimeout(timer);
  };
}

/** Asks at once, and again after a while: soon while a model is being loaded. */
export function refreshModels(): void {
  clearTimeout(timer);
  void listModels()
    .then((listed) => (models.value = listed))
    .catch(() => {})
    .then(() => {
      clearTimeout(timer);
      const isChanging = models.peek()?.some(({ status }) => CHANGING.has(status.value)) ?? false;
      if (numWatching > 0) timer = setTimeout(refreshModels, isChanging ? CHANGING_MS : STEADY_MS);
    });
}

export async function listModels(abort?: AbortSignal): Promise<readonly Model[]> {
  const { data } = await requestJson<{ data: readonly Model[] }>('/v1/models', {
    ...(abort === undefined ? {} : { signal: abort }),
  });
  return data;
}
