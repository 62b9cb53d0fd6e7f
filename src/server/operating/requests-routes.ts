/** /v1/requests: what runs, and an end to it. Operators see all; clients end what is their own. */
import type { Hono } from 'hono';
import { LIMITS } from '../../limits.ts';
import { checkAdmin } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { ApiError } from '../errors.ts';
import { describeRequest } from './running-requests.ts';
import { told } from '../../told.ts';

export function requestsRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  const { keys, running } = context;
  app.get('/v1/requests', (c) => {
    // Where nobody is the operator, each client sees its own.
    const isOwn = !keys.isUnguarded && !keys.hasAdmin;
    if (!isOwn) checkAdmin(context, c.env.incoming);
    const requests = running.list(isOwn ? (c.get('client') ?? '') : null);
    return c.json({
      object: 'list',
      data: requests.slice(0, LIMITS.listedRequests).map(describeRequest),
      has_more: requests.length > LIMITS.listedRequests,
    });
  });
  app.delete('/v1/requests/:id', (c) => {
    const id = c.req.param('id');
    const isAdmin = keys.isAdmin(c.env.incoming.headers);
    // Another client's request is as unknown as one that has ended.
    if (running.abort(id, isAdmin ? null : (c.get('client') ?? '')) === 0) throw notRunning(id);
    return c.json({ id, object: 'request', aborted: true });
  });
}

function notRunning(id: string): ApiError {
  return new ApiError(404, 'NotFoundError', `No request '${told(id, 100)}' of yours is running.`, {
    code: 'request_not_found',
  });
}
