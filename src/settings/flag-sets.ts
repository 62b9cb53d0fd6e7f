/** Flags that several commands have together. */
import { ADAPTER_FLAGS } from './flags/adapter-flags.ts';
import { BATCHING_FLAGS } from './flags/batching-flags.ts';
import { CACHE_FLAGS } from './flags/cache-flags.ts';
import { DEVICE_FLAGS, ENGINE_FLAGS } from './flags/engine-flags.ts';
import { KEY_FLAGS } from './flags/key-flags.ts';
import { MEDIA_FLAGS } from './flags/media-flags.ts';
import { MODEL_FLAGS } from './flags/model-flags.ts';
import { NETWORK_FLAGS } from './flags/network-flags.ts';
import { OPERATING_FLAGS } from './flags/operating-flags.ts';
import { PLACE_FLAGS } from './flags/place-flags.ts';
import { REGISTRY_FLAGS } from './flags/registry-flags.ts';
import { REPLICA_FLAGS } from './flags/replica-flags.ts';
import { REQUEST_FLAGS } from './flags/request-flags.ts';
import { SAMPLING_FLAGS } from './flags/sampling-flags.ts';

export function keysOf<T extends object>(table: T): (keyof T)[] {
  // All of its keys are its own.
  return Object.keys(table) as (keyof T)[];
}

/** How a model is read, whatever it is called. */
const { models: _, model: __, servedModelName: ___, ...READING } = MODEL_FLAGS;
const LOADED = keysOf(READING);

/** Options that a model can be loaded with, apart from its name. */
export const LOADING = [
  ...LOADED,
  ...keysOf(SAMPLING_FLAGS),
  ...keysOf(ADAPTER_FLAGS),
  ...keysOf(ENGINE_FLAGS),
  ...keysOf(DEVICE_FLAGS),
  ...keysOf(REQUEST_FLAGS),
  'warmup',
  // A draft model may be one of the repository.
  'modelRepository',
] as const;
export type LoadingOption = (typeof LOADING)[number];

export const PLACES = [...keysOf(PLACE_FLAGS), 'config'] as const;

export const SERVE_FLAGS = [
  'models',
  'servedModelName',
  ...LOADED,
  ...keysOf(SAMPLING_FLAGS),
  ...keysOf(REGISTRY_FLAGS),
  ...keysOf(ADAPTER_FLAGS),
  ...keysOf(NETWORK_FLAGS),
  ...keysOf(KEY_FLAGS),
  ...keysOf(ENGINE_FLAGS),
  ...keysOf(DEVICE_FLAGS),
  ...keysOf(REQUEST_FLAGS),
  ...keysOf(MEDIA_FLAGS),
  ...keysOf(CACHE_FLAGS),
  ...keysOf(BATCHING_FLAGS),
  ...keysOf(REPLICA_FLAGS),
  ...keysOf(PLACE_FLAGS),
  ...keysOf(OPERATING_FLAGS),
] as const;

/** How one model is computed, by commands that need no server. */
export const COMPUTING = [
  ...keysOf(DEVICE_FLAGS),
  'precision',
  'kvCacheDtype',
  'maxModelLen',
  'maxNumBatchedTokens',
  'kvCacheMemory',
  'prefixCaching',
] as const;
