/** Samples of the last hour, one every few seconds. */
import type { History } from '../../observability/recent/history.ts';
import type { ServerUse } from './process-use.ts';

export const SAMPLE_MS = 5000;
export const HISTORY_MS = 3_600_000;

export const SERIES = [
  'requests_running',
  'requests_waiting',
  'kv_cache_usage',
  'requests_per_second',
  'failures_per_second',
  'prompt_tokens_per_second',
  'generated_tokens_per_second',
  'ttft_p50_ms',
  'ttft_p95_ms',
  'itl_p50_ms',
  'itl_p95_ms',
  'prefix_cache_hit_rate',
  'response_cache_hit_rate',
  'engine_crashes',
  'cpus',
  'rss_bytes',
] as const;

export type SeriesName = (typeof SERIES)[number];

export interface LastHour {
  readonly history: History<SeriesName>;
  /** Resources that the processes use, as of the last sample. */
  readonly use: ServerUse;
}
