/** Status that the server tells its operator. */
import type { ModelState } from '../../../src/front/registry/model-state.ts';
import { request, requestJson } from './request.ts';

export interface ModelStatus {
  readonly id: string;
  readonly state: ModelState;
  readonly reason: string | null;
  readonly memory_bytes: number;
  /** Fields from here on are of a model that is loaded. */
  readonly kind?: 'text' | 'encoder' | 'tensors';
  readonly engine_state?: string;
  readonly silent_ms?: number;
  /** Fields from here on are of one that generates text. */
  readonly family?: string | null;
  readonly parameters?: number | null;
  readonly precision?: string | null;
  readonly max_model_len?: number;
  readonly crashes?: number;
  readonly running?: number;
  readonly waiting?: number;
  readonly preemptions?: number;
  readonly kv_cache_usage?: number;
  readonly prefix_cache?: { readonly queries: number; readonly hits: number };
  readonly drafts?: { readonly tokens: number; readonly accepted: number };
  readonly rates?: { readonly generated_tokens: number } | null;
  readonly engine?: {
    readonly runtime_version: string;
    readonly device: string;
    readonly threads: number;
    /** Requests that run at once, at most. */
    readonly max_num_seqs: number;
    readonly kv_cache_bytes: number;
    readonly kv_cache_tokens: number;
  };
}

/** In milliseconds; null where nothing was measured. */
export interface Latency {
  readonly count: number;
  readonly p50: number | null;
  readonly p90: number | null;
  readonly p99: number | null;
}

export interface Trouble {
  readonly what: string;
  readonly status: number | null;
  readonly code: string | null;
  readonly model: string | null;
  readonly client: string | null;
  readonly count: number;
  readonly first_at: number;
  readonly last_at: number;
}

/** The last hour: Unix times in milliseconds, and a value for each. */
export interface History {
  readonly times: readonly number[];
  readonly series: Readonly<Record<string, readonly (number | null)[]>>;
}

interface Use {
  readonly cpus: number;
  readonly rss_bytes: number;
}

export interface ServerStatus {
  readonly now: number;
  readonly version: string;
  readonly node: string;
  readonly started_at: number;
  readonly is_leaving: boolean;
  readonly is_draining: boolean;
  readonly log_level: string;
  readonly model_control: 'none' | 'poll' | 'explicit' | 'auto';
  readonly models: readonly ModelStatus[];
  readonly requests: { readonly open: number; readonly ended: number; readonly failures: number };
  readonly latency: { readonly window_ms: number; readonly of: Readonly<Record<string, Latency>> };
  readonly caches: {
    readonly responses: {
      readonly hits: number;
      readonly misses: number;
      readonly shared: number;
      readonly entries: number;
      readonly bytes: number;
    } | null;
  };
  readonly resources: {
    readonly machine: {
      readonly cpus: number;
      readonly memory_bytes: number;
      readonly free_bytes: number;
    };
    readonly front: Use & { readonly heap_bytes: number; readonly external_bytes: number };
    readonly engines: Use | null;
  };
  readonly event_loop_stalled_ms: number;
  readonly errors: {
    readonly failures: readonly Trouble[];
    readonly refusals: readonly Trouble[];
  };
  readonly history: History;
}

export interface Setting {
  readonly flag: string;
  readonly environment: string;
  readonly meaning: string;
  readonly source: 'flag' | 'environment' | 'config file' | 'default';
  readonly value: unknown;
  readonly default: string | null;
  readonly is_set: boolean;
  readonly is_secret: boolean;
}

/** @param since Unix time in milliseconds after which the history is wanted */
export function readStatus(since: number, signal: AbortSignal): Promise<ServerStatus> {
  return requestJson(`/admin/status?since=${since}`, { signal });
}

export async function readSettings(signal: AbortSignal): Promise<readonly Setting[]> {
  const { data } = await requestJson<{ data: readonly Setting[] }>('/admin/config', { signal });
  return data;
}

/** Resolves when the model is there, or gone. */
export async function changeModel(verb: 'load' | 'unload', model: string): Promise<void> {
  await request(`/models/${verb}`, { body: { model } });
}
