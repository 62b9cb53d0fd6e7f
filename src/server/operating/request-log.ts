/** Follows each HTTP request: a record for its times, a count, and what is told at its end. */
import { routePath } from 'hono/route';
import type { Context, MiddlewareHandler } from 'hono';
import { RequestRecord } from '../../front/request-record.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { finishRequest } from './finish-request.ts';

/** Probed every few seconds. */
const QUIET_PATHS = /^\/(health|ready|livez|readyz|metrics|v2\/health\/\w+)$/;

export function requestLog(context: ServerContext): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    const record = new RequestRecord();
    c.set('record', record);
    c.set('unread', context.unread);
    const { incoming, outgoing } = c.env;
    const closed = new Promise<void>((resolve) => outgoing.once('close', resolve));
    await next();
    const isStreamed = outgoing.headersSent;
    const { method, path } = c.req;
    const route = routeOf(c);
    const status = isStreamed ? outgoing.statusCode : c.res.status;
    // The times of a refusal could reveal what other clients have.
    const isTold = !isStreamed && status === 200 && record.msOf('receive') !== null;
    if (isTold) c.header('server-timing', record.serverTiming);
    context.metrics.countRequest(method, route, status);
    const requestId = c.get('requestId');
    const client = c.get('client') ?? '';
    const { headers } = incoming;
    const isQuiet = QUIET_PATHS.test(path);
    void closed.then(() =>
      finishRequest(context, {
        record,
        requestId,
        client,
        method,
        path,
        route,
        status,
        errorCode: c.get('errorCode'),
        headers,
        isQuiet,
      }),
    );
  };
}

/** The pattern of the route, of which there are few; paths are any number. */
function routeOf(c: Context<ServerEnv>): string {
  const route = c.get('route') ?? routePath(c, -1);
  return route.endsWith('*') ? 'other' : route;
}
