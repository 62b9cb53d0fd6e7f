/** Requests of somebody who sits at this machine, where no key says who the operator is. */
import type { IncomingMessage } from 'node:http';
import type { ServerConfig } from '../context.ts';
import { adminOnly } from '../errors.ts';
import { isLoopback } from '../http/hosts.ts';

/** What a reverse proxy on this machine adds: the request is that of somebody else. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-real-ip'];

type LocalRequest = Pick<IncomingMessage, 'headers'> & {
  readonly socket: Pick<IncomingMessage['socket'], 'remoteAddress'>;
};

/**
 * Pages may not, unless the operator has named their origin: this machine's browser shows pages of
 * anybody's. `*` names none.
 * @throws ApiError 403
 */
export function requireLocal(
  { headers, socket }: LocalRequest,
  { corsOrigins }: Pick<ServerConfig, 'corsOrigins'>,
): void {
  const { origin, host } = headers;
  if (!isLoopback(socket.remoteAddress ?? '')) {
    throw adminOnly(
      'Only this machine itself may ask for this; from others it takes --admin-api-key.',
    );
  }
  if (FORWARDED.some((name) => headers[name] !== undefined)) {
    throw adminOnly('This came by a proxy; so it takes --admin-api-key.');
  }
  if (origin === undefined || corsOrigins.includes(origin)) return;
  if (URL.canParse(origin) && new URL(origin).host === host) return;
  throw adminOnly(`Pages of ${origin.slice(0, 200)} may not ask for this; see --cors-origin.`);
}
