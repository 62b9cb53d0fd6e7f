import type { ServerStatus } from '../../api/status.ts';
import { formatBytes, formatMs, formatNumber, formatShare } from '../../format.ts';
import { Sparkline } from './sparkline.tsx';

interface Tile {
  readonly label: string;
  /** Name in the history. */
  readonly series: string;
  readonly format: (value: number) => string;
  readonly most?: number;
  /** Note that is shown besides. */
  readonly note?: (status: ServerStatus) => string | null;
}

const perSecond = (value: number) => `${formatNumber(value)}/s`;

const TILES: readonly Tile[] = [
  {
    label: 'Tokens generated',
    series: 'generated_tokens_per_second',
    format: perSecond,
    note: (status) => `prompts ${perSecond(last(status, 'prompt_tokens_per_second') ?? 0)}`,
  },
  {
    label: 'Requests ended',
    series: 'requests_per_second',
    format: perSecond,
    note: ({ requests }) =>
      `${formatNumber(requests.ended)} in all, ${formatNumber(requests.failures)} failed`,
  },
  {
    label: 'Running',
    series: 'requests_running',
    format: formatNumber,
    note: (status) => `${formatNumber(last(status, 'requests_waiting') ?? 0)} waiting`,
  },
  {
    label: 'First token, median',
    series: 'ttft_p50_ms',
    format: formatMs,
    note: (status) => worst(status, 'ttft_p95_ms'),
  },
  {
    label: 'Between tokens, median',
    series: 'itl_p50_ms',
    format: formatMs,
    note: (status) => worst(status, 'itl_p95_ms'),
  },
  { label: 'KV cache', series: 'kv_cache_usage', format: formatShare, most: 1 },
  {
    label: 'Prefix cache hits',
    series: 'prefix_cache_hit_rate',
    format: formatShare,
    most: 1,
    note: ({ models }) => prefixNote(models),
  },
  {
    label: 'CPU cores in use',
    series: 'cpus',
    format: formatNumber,
    note: ({ resources }) => `of ${resources.machine.cpus}`,
  },
  {
    label: 'Memory',
    series: 'rss_bytes',
    format: formatBytes,
    note: ({ resources }) => `of ${formatBytes(resources.machine.memory_bytes)}`,
  },
];

const RESPONSE_CACHE: Tile = {
  label: 'Response cache hits',
  series: 'response_cache_hit_rate',
  format: formatShare,
  most: 1,
  note: ({ caches }) =>
    caches.responses &&
    `${formatNumber(caches.responses.entries)} answers, ${formatBytes(caches.responses.bytes)}`,
};

/** Shows what the server does now, each value with its course over the last hour. */
export function Tiles({ status }: { readonly status: ServerStatus }) {
  const tiles = status.caches.responses === null ? TILES : [...TILES, RESPONSE_CACHE];
  return (
    <section aria-labelledby="now">
      <h2 id="now">
        Now <small class="soft">and over the last hour</small>
      </h2>
      <dl class="tiles status-tiles">
        {tiles.map((tile) => (
          <TileOf key={tile.label} tile={tile} status={status} />
        ))}
      </dl>
    </section>
  );
}

function TileOf({ tile, status }: { readonly tile: Tile; readonly status: ServerStatus }) {
  const { label, series, format, most, note } = tile;
  const { times, series: all } = status.history;
  const value = last(status, series);
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        {value === null ? <span class="soft">–</span> : format(value)}{' '}
        <small>{note?.(status) ?? ''}</small>
      </dd>
      <dd class="course">
        <Sparkline
          label={`${label}, last hour`}
          times={times}
          values={all[series] ?? []}
          format={format}
          {...(most === undefined ? {} : { most })}
        />
      </dd>
    </div>
  );
}

/** The newest value of a series, of those that are there for a moment only the newest that there was. */
function last({ history }: ServerStatus, series: string): number | null {
  return (history.series[series] ?? []).findLast((value) => value !== null) ?? null;
}

function worst(status: ServerStatus, series: string): string | null {
  const value = last(status, series);
  return value === null ? null : `p95 ${formatMs(value)}`;
}

function prefixNote(models: ServerStatus['models']): string | null {
  const sum = (of: 'queries' | 'hits') =>
    models.reduce((total, model) => total + (model.prefix_cache?.[of] ?? 0), 0);
  const queries = sum('queries');
  return queries === 0 ? null : `${formatShare(sum('hits') / queries)} of all tokens`;
}
