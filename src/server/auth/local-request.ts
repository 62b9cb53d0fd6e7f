/** Requests from this machine: without keys they count as the operator's. */
import type { IncomingMessage } from 'node:http';
import type { ServerConfig } from '../config.ts';
import { adminOnly } from '../errors.ts';
import { socketPathOf } from '../../net/unix-address.ts';
import { isLoopback } from '../http/hosts.ts';
import { told } from '../../told.ts';

/** Headers that a reverse proxy on this machine adds: the request comes from elsewhere. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-real-ip'];

/** Part of a request, or of a gRPC call, that shows where it comes from. */
export type LocalRequest = Pick<IncomingMessage, 'headers'> & {
  readonly socket: Pick<IncomingMessage['socket'], 'remoteAddress'>;
};

/**
 * Web pages may not, except the server's own and those whose origin the operator named; `*` names none.
 * @throws ApiError 403
 */
export function requireLocal(
  { headers, socket }: LocalRequest,
  { corsOrigins, host: bound }: Pick<ServerConfig, 'corsOrigins' | 'host'>,
): void {
  const { origin, host } = headers;
  // By its file, which other machines can't open; a TCP socket that is closed has no address either.
  const isByFile = socket.remoteAddress === undefined && socketPathOf(bound) !== null;
  if (!isByFile && !isLoopback(socket.remoteAddress ?? '')) {
    throw adminOnly(
      'Only this machine may ask for this; requests from others need --admin-api-key.',
    );
  }
  if (FORWARDED.some((name) => headers[name] !== undefined)) {
    throw adminOnly('Requests through a proxy need --admin-api-key for this.');
  }
  if (origin === undefined || corsOrigins.includes(origin)) return;
  if (URL.canParse(origin) && new URL(origin).host === host) return;
  throw adminOnly(`Pages of ${told(origin, 200)} may not ask for this; see --cors-origin.`);
}
