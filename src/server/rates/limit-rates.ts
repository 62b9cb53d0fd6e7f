import type { IncomingMessage } from 'node:http';
import type { MiddlewareHandler } from 'hono';
import { ADMIN_CLIENT } from '../auth/api-keys.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { HANDOVER_PATH } from '../resume/replica-seal.ts';
import { networkOf } from '../http/network-of.ts';

/**
 * Takes every POST from the rate of whoever sends it. The operator has none, and what a replica hands
 * over was taken there.
 */
export function limitRates({ rates }: ServerContext): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    const client = c.get('client') ?? '';
    if (c.req.method === 'POST' && client !== ADMIN_CLIENT && c.req.path !== HANDOVER_PATH) {
      const meter = await rates.takeRequest(accountOf(client, c.env.incoming), (headers) => {
        // The update at a generation's end may come after the headers were sent.
        if (c.finalized || c.env.outgoing.headersSent) return;
        for (const [name, value] of Object.entries(headers)) c.header(name, value);
      });
      if (meter !== undefined) c.set('meter', meter);
    }
    await next();
  };
}

/** Account whose rate it is: the client's, or on a server without keys the address's. */
export function accountOf(client: string, { socket }: IncomingMessage): string {
  return client === '' ? networkOf(socket.remoteAddress) : client;
}
