/** Data of the page that shows a server's state: numbers and names, no text of requests. */
import { requestLoad } from '../../front/queue/request-load.ts';
import { availableParallelism, freemem, totalmem } from 'node:os';
import type { ModelInfo } from '../../front/registry/model-entry.ts';
import { LATENCIES } from '../../observability/recent/activity.ts';
import { WINDOW_TURNS } from '../../observability/recent/recent-latency.ts';
import type { ServerContext } from '../context.ts';
import type { AnyRuntime, TextRuntime } from '../runtimes.ts';
import type { JsonObject } from '../json-object.ts';
import { modelIdOf, severalVersions } from '../model-id.ts';
import { SAMPLE_MS } from './last-hour.ts';

/** @param since Unix time in milliseconds after which the history is reported; null leaves it out */
export function serverStatus(context: ServerContext, since: number | null): JsonObject {
  const { config, models, status, troubles, running, loop, logger } = context;
  const { history } = status;
  const infos = models.list();
  const several = severalVersions(infos);
  return {
    now: Date.now(),
    version: config.version,
    node: process.version,
    started_at: Math.round(Date.now() - process.uptime() * 1000),
    is_leaving: context.isLeaving(),
    is_draining: context.isDraining(),
    log_level: logger.level,
    model_control: models.control,
    models: infos.map((info) => describeModel(context, info, modelIdOf(several, info))),
    requests: {
      open: running.size,
      ended: context.metrics.activity.requests,
      failures: troubles.numFailures,
    },
    latency: latencies(context),
    caches: { responses: cacheState(context) },
    resources: resources(context),
    event_loop_stalled_ms: Math.round(loop.stalledMs),
    errors: { failures: troubles.failures.list(), refusals: troubles.refusals.list() },
    ...(since === null ? {} : { history: { interval_ms: SAMPLE_MS, ...history.since(since) } }),
  };
}

function describeModel(context: ServerContext, info: ModelInfo, id: string): JsonObject {
  const { name, version, state, reason, memoryBytes } = info;
  const runtime = context.models.runtimeOf(info);
  return {
    id,
    name,
    version,
    state,
    reason,
    memory_bytes: memoryBytes,
    ...(runtime === null ? {} : runtimeState(context, name, runtime)),
  };
}

function runtimeState(context: ServerContext, name: string, runtime: AnyRuntime): JsonObject {
  const { kind, engine } = runtime;
  const common = { kind, engine_state: engine.state, silent_ms: Math.round(engine.silentMs) };
  return runtime.kind === 'text' ? { ...common, ...textState(context, name, runtime) } : common;
}

function textState(
  { metrics }: ServerContext,
  name: string,
  { engine, admission, model }: TextRuntime,
): JsonObject {
  const { stats, numCrashes } = engine;
  const rates = metrics.ratesOf(name);
  return {
    family: model.details?.family ?? null,
    parameters: model.details?.numParameters ?? null,
    precision: model.details?.precision ?? null,
    max_model_len: model.maxModelLen,
    crashes: numCrashes,
    ...requestLoad(engine, admission),
    steps: stats.numSteps,
    step_tokens: stats.stepTokens,
    preemptions: stats.numPreemptions,
    yields: stats.numYields,
    kv_cache_usage: stats.kvCacheUsage,
    prefix_cache: { queries: stats.prefixCacheQueries, hits: stats.prefixCacheHits },
    drafts: { tokens: stats.numDraftTokens, accepted: stats.numAcceptedTokens },
    rates: rates && {
      requests: rates.requests,
      prompt_tokens: rates.promptTokens,
      generated_tokens: rates.generatedTokens,
    },
    // An engine that has never been ready reports nothing yet.
    ...(engine.state === 'starting' ? {} : { engine: engineFacts(engine) }),
  };
}

function engineFacts({ info }: TextRuntime['engine']): JsonObject {
  return {
    runtime_version: info.runtimeVersion,
    device: info.device,
    threads: info.threads,
    slots: info.numSlots,
    max_num_seqs: info.maxNumSeqs,
    kv_cache_bytes: info.kvCacheBytes,
    kv_cache_tokens: info.kvCacheTokens,
  };
}

/** Latencies of about the last five minutes, in milliseconds. */
function latencies({ metrics: { activity } }: ServerContext): JsonObject {
  const summaries = LATENCIES.map((name) => {
    const { count, p50, p90, p99 } = activity.of(name).summary();
    return [name, { count, p50: inMs(p50), p90: inMs(p90), p99: inMs(p99) }];
  });
  return { window_ms: WINDOW_TURNS * SAMPLE_MS, of: Object.fromEntries(summaries) };
}

/** With three digits; null for what is no number. */
function inMs(ms: number): number | null {
  return Number.isNaN(ms) ? null : Number(ms.toPrecision(3));
}

/** Counts of the cache of answers; null if there is none. */
function cacheState({ answers }: ServerContext): JsonObject | null {
  if (answers === null) return null;
  const { hits, misses, shared, entries, bytes } = answers.counts;
  return { hits: hits.memory + hits.redis, misses, shared, entries, bytes };
}

function resources({ status: { use } }: ServerContext): JsonObject {
  const { heapUsed, external } = process.memoryUsage();
  const { front, engines } = use;
  return {
    machine: { cpus: availableParallelism(), memory_bytes: totalmem(), free_bytes: freemem() },
    front: {
      cpus: front.cpus,
      rss_bytes: front.rssBytes,
      heap_bytes: heapUsed,
      external_bytes: external,
    },
    engines: engines && { cpus: engines.cpus, rss_bytes: engines.rssBytes },
  };
}
