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
  readonly capabilities?: readonly string[] | null;
  readonly status: {
    readonly value: ModelState;
    /** Why it can't be used. */
    readonly reason?: string;
  };
  /** Values of parameters that a request leaves out; of a loaded model that generates text. */
  readonly default_sampling_params?: Readonly<Record<string, number>>;
}

const CHANGING: ReadonlySet<string> = new Set(['downloading', 'building', 'loading', 'draining']);
const CHANGING_MS = 1000;
const STEADY_MS = 5000;

/** Null until the server has listed them. */
export const models = signal<readonly Model[] | null>(null);

/** Models that are not loaded may not tell what they can do. */
export const chatModels = modelsWith(/chat/);
export const textModels = modelsWith(/chat|completion|generat/);

/** The one that is taken where none is picked: the first that is loaded. */
export const defaultChatModel = computed(() => firstLoaded(chatModels.value));

export function firstLoaded(listed: readonly Model[]): Model | undefined {
  return listed.find(({ status }) => status.value === 'ready') ?? listed[0];
}

/** @param id null for the one that is taken where none is picked */
export function takesImages(id: string | null): boolean {
  const model =
    id === null ? defaultChatModel.value : models.value?.find((listed) => listed.id === id);
  return model?.capabilities?.includes('vision') ?? false;
}

export function isChanging(model: Model | undefined): boolean {
  return model !== undefined && CHANGING.has(model.status.value);
}

let timer: ReturnType<typeof setTimeout> | undefined;
let isWatched = false;

/** Keeps `models` up to date while the page is seen, until the function that it returns is called. */
export function watchModels(): () => void {
  isWatched = true;
  const onSeen = () => {
    if (!document.hidden) refreshModels();
  };
  document.addEventListener('visibilitychange', onSeen);
  const unsubscribe = apiKey.subscribe(refreshModels);
  return () => {
    isWatched = false;
    unsubscribe();
    document.removeEventListener('visibilitychange', onSeen);
    clearTimeout(timer);
  };
}

/** Asks at once, and again after a while: soon while a model is being loaded. */
export function refreshModels(): void {
  clearTimeout(timer);
  void listModels()
    .then((listed) => (models.value = listed))
    // Whether the server is there is noted elsewhere.
    .catch(() => {})
    .then(() => {
      clearTimeout(timer);
      if (!isWatched || document.hidden) return;
      const isSoon = models.peek()?.some(isChanging) ?? false;
      timer = setTimeout(refreshModels, isSoon ? CHANGING_MS : STEADY_MS);
    });
}

export async function listModels(abort?: AbortSignal): Promise<readonly Model[]> {
  const { data } = await requestJson<{ data: readonly Model[] }>('/v1/models', {
    isBackground: true,
    ...(abort === undefined ? {} : { signal: abort }),
  });
  return data;
}

function modelsWith(capability: RegExp) {
  return computed(() =>
    (models.value ?? []).filter(
      ({ capabilities }) => capabilities?.some((each) => capability.test(each)) ?? true,
    ),
  );
}
