/** Probes: is the process worth keeping, and should it get traffic now. */
import type { Hono } from 'hono';
import type { EngineState } from '../../front/engine-process/engine-contract.ts';
import { LIMITS } from '../../limits.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { unavailable } from '../errors.ts';

/**
 * `/livez` fails when the engine is gone for good, or when the front's event loop was blocked for
 * much of the last half minute. It does not fail during a start or a recovery, since supervisors
 * restart on it. `/health` also fails while the model loads, as other servers' do. `/ready` and
 * `/readyz` fail whenever new requests would not run at once, also when the engine is silent.
 */
export function healthRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  app.get('/livez', (c) => {
    requireState(context, 'starting', 'ready', 'recovering');
    requireLoop(context);
    return c.json({ status: 'ok' });
  });
  app.get('/health', (c) => {
    requireState(context, 'ready', 'recovering');
    return c.json({ status: 'ok' });
  });
  for (const path of ['/ready', '/readyz']) {
    app.get(path, (c) => {
      if (context.isDraining()) throw unavailable('The server is shutting down.');
      requireState(context, 'ready');
      requireProgress(context);
      return c.json({ status: 'ok' });
    });
  }
  app.get('/version', (c) => c.json({ version: context.config.version }));
}

function requireState({ engine }: ServerContext, ...states: EngineState[]): void {
  if (!states.includes(engine.state)) throw unavailable(`The engine is ${engine.state}.`);
}

function requireLoop({ loop }: ServerContext): void {
  const { stalledMs } = loop;
  if (stalledMs <= LIMITS.loopStalledMs) return;
  const window = inSeconds(LIMITS.loopWindowMs);
  throw unavailable(`The server stood still for ${inSeconds(stalledMs)} of the last ${window}.`);
}

function requireProgress({ engine }: ServerContext): void {
  const { silentMs } = engine;
  if (silentMs <= LIMITS.engineSilentMs) return;
  throw unavailable(`The engine has work and made no progress for ${inSeconds(silentMs)}.`);
}

function inSeconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}
