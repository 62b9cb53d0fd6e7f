/** The state of a server as far as it may be shown: numbers and names, no text of requests. */
import { bestState } from '../../front/engine-process/engine-contract.ts';
import { LIMITS } from '../../limits.ts';
import type { ServerContext } from '../context.ts';
import type { AnyRuntime } from '../runtimes.ts';
import type { JsonObject } from '../json-object.ts';
import { describeRequest } from './running-requests.ts';

export function serverState(context: ServerContext): JsonObject {
  const { config, models, running, loop, logger } = context;
  const { rss, heapUsed, heapTotal, external, arrayBuffers } = process.memoryUsage();
  return {
    version: config.version,
    node: process.version,
    pid: process.pid,
    uptime_seconds: Math.round(process.uptime()),
    is_leaving: context.isLeaving(),
    is_draining: context.isDraining(),
    log_level: logger.level,
    event_loop_stalled_ms: Math.round(loop.stalledMs),
    memory_bytes: { rss, heapUsed, heapTotal, external, arrayBuffers },
    open_resources: countsOf(process.getActiveResourcesInfo()),
    engine_state: bestState(models.loaded().map(({ runtime }) => runtime.engine.state)),
    models: models
      .list()
      .map(({ name, version, state, reason }) => ({ name, version, state, reason })),
    loaded: models.loaded().map(({ definition, runtime, numUses }) => ({
      name: definition.name,
      version: definition.version,
      num_uses: numUses,
      ...runtimeState(runtime),
    })),
    num_requests: running.size,
    requests: running.list(null).slice(0, LIMITS.listedRequests).map(describeRequest),
  };
}

function runtimeState(runtime: AnyRuntime): JsonObject {
  const { kind, engine, memoryBytes } = runtime;
  const silentMs = Math.round(engine.silentMs);
  const common = {
    kind,
    engine_state: engine.state,
    engine_silent_ms: silentMs,
    memory_bytes: memoryBytes,
  };
  if (runtime.kind !== 'text') return common;
  const { stats, info, numCrashes } = runtime.engine;
  const { sharedMemoryFd: _, ...shown } = info;
  return {
    ...common,
    engine_crashes: numCrashes,
    queue: { waiting: runtime.admission.waiting, running: runtime.admission.running },
    engine: { ...shown },
    stats: { ...stats },
  };
}

function countsOf(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
