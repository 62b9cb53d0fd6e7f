import type { LoadedModel, Runtime } from './loaded-model.ts';
import type { ModelDefinition } from './model-definition.ts';
import type { ModelState } from './model-state.ts';

/** One version of a model. */
export interface ModelEntry<R extends Runtime> {
  definition: ModelDefinition;
  /** Loaded model that serves, also while a newer build of it is being loaded. */
  loaded: LoadedModel<R> | null;
  loading: ModelLoad | null;
  /** Why the last load failed; null after one that did not. */
  failure: string | null;
  /** When the last load failed, on `performance.now`'s clock. */
  failedAt: number;
  /** Unloaded copies that are still in memory, until the last request that uses them has ended. */
  numDraining: number;
  /** Runs out when it has been idle for too long. */
  idleTimer: NodeJS.Timeout | undefined;
  /** As the last request that named one wanted it; null is the definition's. */
  keepAliveMs: number | null;
}

/** A load under way; everybody who wants the model waits for the same one. */
export interface ModelLoad {
  /** Never rejects: the entry says how it went. */
  readonly done: Promise<void>;
  state: 'downloading' | 'building' | 'loading';
  /** A load that nobody waits for any more is given up while it waits for room. */
  numWaiting: number;
  /** Keeps the model in use until all who waited have it. */
  release: (() => void) | null;
}

/** As clients and operators see it. */
export interface ModelInfo {
  readonly name: string;
  readonly version: string;
  readonly state: ModelState;
  /** Why it can't be used; null if it can. */
  readonly reason: string | null;
  /** Bytes that it takes; 0 while it is not loaded. */
  readonly memoryBytes: number;
}

export function newEntry<R extends Runtime>(definition: ModelDefinition): ModelEntry<R> {
  return {
    definition,
    loaded: null,
    loading: null,
    failure: null,
    failedAt: -Infinity,
    numDraining: 0,
    idleTimer: undefined,
    keepAliveMs: null,
  };
}

export function infoOf<R extends Runtime>(entry: ModelEntry<R>): ModelInfo {
  const { name, version } = entry.definition;
  const memoryBytes = entry.loaded?.runtime.memoryBytes ?? 0;
  return { name, version, state: stateOf(entry), reason: entry.failure, memoryBytes };
}

function stateOf<R extends Runtime>(entry: ModelEntry<R>): ModelState {
  if (entry.loaded !== null) return 'ready';
  if (entry.loading !== null) return entry.loading.state;
  if (entry.numDraining > 0) return 'draining';
  return entry.failure === null ? 'unloaded' : 'failed';
}
