/** How busy a server is, for routers: by ORCA in answers, which needs no scrapes, and by /load. */
import { requestLoad } from '../../front/queue/request-load.ts';
import type { Hono, MiddlewareHandler } from 'hono';
import type { ServerContext, ServerEnv } from '../context.ts';

const ASKED = 'endpoint-load-metrics-format';
const ANSWERED = 'endpoint-load-metrics';

/** Answers requests that say `endpoint-load-metrics-format: TEXT` or `JSON`, as vLLM does. */
export function loadReport({ models }: ServerContext): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    const format = c.req.header(ASKED)?.toUpperCase();
    if (format === 'TEXT' || format === 'JSON') c.header(ANSWERED, reportOf(models, format));
    await next();
  };
}

/** vLLM's /load: requests that wait or run, whatever they ask of a model. */
export function loadRoute(app: Hono<ServerEnv>, { models }: ServerContext): void {
  app.get('/load', (c) =>
    c.json({ server_load: models.loaded().reduce((sum, { numUses }) => sum + numUses, 0) }),
  );
}

/**
 * Load of all models that generate text: the sums of their requests, and the KV cache that is fullest.
 */
function reportOf(models: ServerContext['models'], format: 'TEXT' | 'JSON'): string {
  const report = { kv_cache_usage_perc: 0, num_requests_waiting: 0, num_requests_running: 0 };
  for (const { runtime } of models.loaded()) {
    if (runtime.kind !== 'text') continue;
    const { kvCacheUsage } = runtime.engine.stats;
    const load = requestLoad(runtime.engine, runtime.admission);
    report.kv_cache_usage_perc = Math.max(report.kv_cache_usage_perc, kvCacheUsage);
    report.num_requests_waiting += load.waiting;
    report.num_requests_running += load.running;
  }
  if (format === 'JSON') return `JSON ${JSON.stringify({ named_metrics: report })}`;
  const pairs = Object.entries(report).map(([name, value]) => `named_metrics.${name}=${value}`);
  return `TEXT ${pairs.join(', ')}`;
}
