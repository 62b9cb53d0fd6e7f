/** Probes: is the process worth keeping, and should it get traffic now. */
import type { Context, Hono } from 'hono';
import type { EngineState } from '../front/engine.ts';
import type { ServerContext, ServerEnv } from './context.ts';
import { unavailable } from './errors.ts';

/**
 * `/livez` fails only when the engine is gone for good: a supervisor that restarts on it must not
 * cut short a start or a recovery. `/health` fails also while the model loads, as other servers do.
 * `/ready` and `/readyz` fail whenever new requests would not run at once.
 */
export function healthRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  const okIn =
    (...states: EngineState[]) =>
    (c: Context<ServerEnv>): Response => {
      const { state } = context.engine;
      if (states.includes(state)) return c.json({ status: 'ok' });
      throw unavailable(`The engine is ${state}.`);
    };
  app.get('/livez', okIn('starting', 'ready', 'recovering'));
  app.get('/health', okIn('ready', 'recovering'));
  const isReady = okIn('ready');
  for (const path of ['/ready', '/readyz']) {
    app.get(path, (c) => {
      if (context.isDraining()) throw unavailable('The server is shutting down.');
      return isReady(c);
    });
  }
  app.get('/version', (c) => c.json({ version: context.config.version }));
}
