/** Probes: is the process worth keeping, and should it get traffic now. */
import type { IncomingMessage } from 'node:http';
import type { Hono } from 'hono';
import { bestState, type EngineState } from '../../front/engine-process/engine-contract.ts';
import { LIMITS } from '../../limits.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { ApiError, unavailable } from '../errors.ts';

/**
 * `/livez` fails when the engine is gone for good, or when the front's event loop was blocked for
 * much of the last half minute. It does not fail during a start or a recovery, since supervisors
 * restart on it. `/health` also fails while the model loads, as other servers' do. `/ready` and
 * `/readyz` fail whenever new requests would not run at once, also when the engine is silent.
 */
export function healthRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  app.get('/livez', (c) => {
    requireLive(context);
    return c.json({ status: 'ok' });
  });
  // SageMaker's name is /ping.
  for (const path of ['/health', '/ping']) {
    app.get(path, (c) => {
      requireState(context, 'ready', 'recovering');
      return c.json({ status: 'ok' });
    });
  }
  for (const path of ['/ready', '/readyz']) {
    app.get(path, (c) => {
      requireReady(context);
      return c.json({ status: 'ok' });
    });
  }
  app.get('/version', (c) => c.json({ version: context.config.version }));
}

/** Whether a supervisor or a load balancer asks how the server is. */
export function isProbe({ url = '' }: IncomingMessage): boolean {
  return /^\/(livez|health|ping|readyz?)(\?|$)/.test(url);
}

/** @throws ApiError 503 when the server had better be started anew */
export function requireLive(context: ServerContext): void {
  requireState(context, 'starting', 'ready', 'recovering');
  requireLoop(context);
}

/** @throws ApiError 503 when new requests would not run at once; as configured when it is leaving */
export function requireReady(context: ServerContext): void {
  if (context.isLeaving()) throw leaving(context.config.drainStatus);
  if (context.models.sleep.isAsleep)
    throw unavailable('The server sleeps; POST /wake_up wakes it.');
  requireState(context, 'ready');
  requireProgress(context);
}

function leaving(status: 404 | 503): ApiError {
  const failure = unavailable('The server is shutting down.');
  return status === 503 ? failure : new ApiError(status, 'NotFoundError', failure.message);
}

function requireState({ models }: ServerContext, ...states: EngineState[]): void {
  const state = stateOf(models);
  if (!states.includes(state)) throw unavailable(`The engine is ${state}.`);
}

/**
 * State of all models together: one that serves is enough, and models that load on demand need not be
 * loaded.
 */
function stateOf(models: ServerContext['models']): EngineState {
  if (models.isStarting) return 'starting';
  const engines = models.loaded().map(({ runtime }) => runtime.engine);
  if (engines.length > 0) return bestState(engines.map(({ state }) => state));
  const isBroken = models.list().every(({ state }) => state === 'failed');
  return isBroken ? 'failed' : 'ready';
}

function requireLoop({ loop }: ServerContext): void {
  const { stalledMs } = loop;
  if (stalledMs <= LIMITS.loopStalledMs) return;
  const window = inSeconds(LIMITS.loopWindowMs);
  throw unavailable(`The server was blocked for ${inSeconds(stalledMs)} of the last ${window}.`);
}

function requireProgress({ models }: ServerContext): void {
  const silentMs = Math.max(0, ...models.loaded().map(({ runtime }) => runtime.engine.silentMs));
  if (silentMs <= LIMITS.engineSilentMs) return;
  throw unavailable(`The engine has work and made no progress for ${inSeconds(silentMs)}.`);
}

function inSeconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}
