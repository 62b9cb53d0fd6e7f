import { Counter, Gauge, type Registry } from 'prom-client';
import type { Admission } from '../front/queue/admission.ts';
import { requestLoad } from '../front/queue/request-load.ts';
import type { EmbeddingCounts } from '../front/generation/prompt-image.ts';
import { type Engine, ENGINE_STATES } from '../front/engine-process/engine-contract.ts';

export interface ObservedState {
  readonly engine: Pick<Engine, 'stats' | 'numCrashes' | 'silentMs' | 'state' | 'info' | 'onStep'>;
  readonly admission: Pick<Admission, 'running' | 'waiting' | 'waitingTokens' | 'numRejected'>;
  /** Null or left out for a model that sees nothing. */
  readonly vision?: { readonly counts: EmbeddingCounts } | null;
}

/** Where prefixes are kept beyond the KV cache. */
type Place = 'memory' | 'folder';

/** Metrics that are read from the engine and the queue whenever somebody asks. */
export function registerStateMetrics(registry: Registry, stateNow: () => ObservedState) {
  const registers = [registry];
  const gauge = (name: string, help: string, level: () => number): void => {
    const metric: Gauge = new Gauge({
      name: `chairlift_${name}`,
      help,
      registers,
      collect: () => metric.set(level()),
    });
  };
  /** The count starts again with every engine process, which Prometheus takes as a reset. */
  const counter = (name: string, help: string, count: () => number): void => {
    const metric: Counter = new Counter({
      name: `chairlift_${name}`,
      help,
      registers,
      collect() {
        metric.reset();
        metric.inc(count());
      },
    });
  };

  /** Counts draft tokens by source: those that a grammar forced, and the others. */
  const bySource = (name: string, help: string, count: () => [all: number, forced: number]) => {
    const metric: Counter<'source'> = new Counter({
      name: `chairlift_${name}`,
      help: `${help} Forced by a \`grammar\`, or a \`guess\` from texts or a draft model.`,
      labelNames: ['source'],
      registers,
      collect() {
        const [all, forced] = count();
        metric.reset();
        metric.inc({ source: 'grammar' }, forced);
        metric.inc({ source: 'guess' }, all - forced);
      },
    });
  };

  const load = () => requestLoad(stateNow().engine, stateNow().admission);
  gauge('num_requests_running', 'Requests that have a place in the batch.', () => load().running);
  gauge('num_requests_waiting', 'Requests that wait for a place in the batch.', () => {
    return load().waiting;
  });
  const byReason: Gauge<'reason'> = new Gauge({
    name: 'chairlift_num_requests_waiting_by_reason',
    help: 'Waiting requests: `capacity` in the queue, `deferred` in the engine for a slot or memory.',
    labelNames: ['reason'],
    registers,
    collect() {
      byReason.set({ reason: 'capacity' }, stateNow().admission.waiting);
      byReason.set({ reason: 'deferred' }, stateNow().engine.stats.numWaiting);
    },
  });
  gauge('num_prompt_tokens_waiting', 'Prompt tokens of the requests in the queue.', () => {
    return stateNow().admission.waitingTokens;
  });
  const rejected: Counter<'reason'> = new Counter({
    name: 'chairlift_request_rejected_total',
    help: 'Requests rejected, by the limit of the queue that was reached.',
    labelNames: ['reason'],
    registers,
    collect() {
      rejected.reset();
      for (const [reason, count] of Object.entries(stateNow().admission.numRejected)) {
        rejected.inc({ reason }, count);
      }
    },
  });
  gauge('kv_cache_usage_perc', "Share of the KV cache's memory in use, 0 to 1.", () => {
    return stateNow().engine.stats.kvCacheUsage;
  });
  const cacheConfig: Gauge<'block_size' | 'num_gpu_blocks'> = new Gauge({
    name: 'chairlift_cache_config_info',
    help: 'Always 1; the labels say how the KV cache is divided: tokens of a block, and blocks.',
    labelNames: ['block_size', 'num_gpu_blocks'],
    registers,
    collect() {
      const { kvCacheTokens, kvBlockTokens } = stateNow().engine.info;
      const blocks = Math.floor(kvCacheTokens / kvBlockTokens);
      cacheConfig.reset();
      cacheConfig.set({ block_size: `${kvBlockTokens}`, num_gpu_blocks: `${blocks}` }, 1);
    },
  });
  counter(
    'num_preemptions_total',
    'Times that a sequence was preempted because memory was short.',
    () => {
      return stateNow().engine.stats.numPreemptions;
    },
  );
  counter(
    'num_yields_total',
    'Times that a sequence gave its slot to a better service class.',
    () => {
      return stateNow().engine.stats.numYields;
    },
  );
  counter('prefix_cache_queries_total', 'Tokens looked up in the prefix cache.', () => {
    return stateNow().engine.stats.prefixCacheQueries;
  });
  counter('prefix_cache_hits_total', 'Tokens found in the prefix cache.', () => {
    return stateNow().engine.stats.prefixCacheHits;
  });
  counter(
    'external_prefix_cache_queries_total',
    'Prompt tokens that the KV cache did not have and that were looked up beyond it.',
    () => stateNow().engine.stats.externalPrefixCacheQueries,
  );
  counter(
    'external_prefix_cache_hits_total',
    'Prompt tokens loaded from there.',
    () => stateNow().engine.stats.externalPrefixCacheHits,
  );
  const byPlace = (name: string, help: string, levels: () => Record<Place, number>): void => {
    const metric: Gauge<'place'> = new Gauge({
      name: `chairlift_${name}`,
      help: `${help} The \`folder\` is counted whole, with other models' and servers' files.`,
      labelNames: ['place'],
      registers,
      collect() {
        const { memory, folder } = levels();
        metric.set({ place: 'memory' }, memory);
        metric.set({ place: 'folder' }, folder);
      },
    });
  };
  byPlace('prefix_tier_bytes', 'Bytes of prefixes kept beyond the KV cache.', () => {
    const { prefixTierMemoryBytes, prefixTierFolderBytes } = stateNow().engine.stats;
    return { memory: prefixTierMemoryBytes, folder: prefixTierFolderBytes };
  });
  byPlace('prefix_tier_blocks', 'Their blocks, of 64 tokens.', () => {
    const { prefixTierMemoryBlocks, prefixTierFolderBlocks } = stateNow().engine.stats;
    return { memory: prefixTierMemoryBlocks, folder: prefixTierFolderBlocks };
  });
  counter('prefix_tier_blocks_saved_total', 'Blocks saved beyond the KV cache.', () => {
    return stateNow().engine.stats.prefixTierSaved;
  });
  counter(
    'prefix_tier_texts_lost_total',
    'Texts of which something was not saved, since their slot was needed first.',
    () => stateNow().engine.stats.prefixTierLost,
  );
  counter(
    'prefix_tier_errors_total',
    'Files of prefixes that could not be read or written, or were damaged.',
    () => stateNow().engine.stats.prefixTierErrors,
  );
  counter('mm_cache_queries_total', 'Tiles of images whose embeddings were looked up.', () => {
    return stateNow().vision?.counts.queries ?? 0;
  });
  counter('mm_cache_hits_total', 'Tiles of images whose embeddings were known.', () => {
    return stateNow().vision?.counts.hits ?? 0;
  });
  const misses: Counter<'cause'> = new Counter({
    name: 'chairlift_prefix_cache_misses_total',
    help: 'Tokens looked up and not found: `absent` in prompts that nothing kept begins like, `changed` where what is kept goes on otherwise, `new` after all that is kept.',
    labelNames: ['cause'],
    registers,
    collect() {
      const { stats } = stateNow().engine;
      const { prefixCacheAbsent: absent, prefixCacheChanged: changed } = stats;
      const numMissed = stats.prefixCacheQueries - stats.prefixCacheHits;
      misses.reset();
      misses.inc({ cause: 'absent' }, absent);
      misses.inc({ cause: 'changed' }, changed);
      misses.inc({ cause: 'new' }, numMissed - absent - changed);
    },
  });
  counter('spec_decode_num_drafts_total', 'Drafts of coming tokens that were verified.', () => {
    return stateNow().engine.stats.numDrafts;
  });
  bySource('spec_decode_num_draft_tokens_total', 'Tokens of those drafts.', () => {
    return [stateNow().engine.stats.numDraftTokens, stateNow().engine.stats.numForcedDraftTokens];
  });
  bySource('spec_decode_num_accepted_tokens_total', 'Draft tokens that came true.', () => {
    return [
      stateNow().engine.stats.numAcceptedTokens,
      stateNow().engine.stats.numForcedAcceptedTokens,
    ];
  });
  counter('engine_steps_total', 'Steps of the engine.', () => stateNow().engine.stats.numSteps);
  counter('engine_crashes_total', 'Times that the engine process ended unexpectedly.', () => {
    return stateNow().engine.numCrashes;
  });
  gauge(
    'engine_heartbeat_age_seconds',
    'Time since an engine that has work last said anything; 0 without work.',
    () => stateNow().engine.silentMs / 1000,
  );
  const engineState: Gauge<'state'> = new Gauge({
    name: 'chairlift_engine_state',
    help: '1 for the state that the engine is in: `failed` while the circuit breaker is open, after crashes in a row.',
    labelNames: ['state'],
    registers,
    collect() {
      const { state } = stateNow().engine;
      for (const other of ENGINE_STATES) engineState.set({ state: other }, other === state ? 1 : 0);
    },
  });
}
