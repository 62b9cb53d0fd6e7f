/** Client of a call, and how long it may take. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Caller } from '../front/caller.ts';
import type { RequestRecord } from '../front/request-record.ts';
import type { ServerContext } from '../server/context.ts';
import { ADMIN_CLIENT } from '../server/auth/api-keys.ts';
import { networkOf } from '../server/http/network-of.ts';
import { withDeadline } from '../front/deadline.ts';
import type { CallStream } from './call-stream.ts';

/** Timers of more milliseconds run out at once in Node. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A call, as what answers it sees it. */
export interface RpcCall {
  readonly caller: Caller;
  /** Account whose rate its requests are taken from. */
  readonly account: string;
  readonly headers: IncomingHttpHeaders;
  /** Socket of its connection, as requests over HTTP have it. */
  readonly socket: { readonly remoteAddress: string };
}

/**
 * To be asked for once, when the call begins. Its signal aborts when the client is gone, or its own
 * deadline or the server's is over.
 * @throws ApiError 401
 */
export function openCall(
  { keys, config }: Pick<ServerContext, 'keys' | 'config'>,
  { headers, gone, timeoutMs, remoteAddress }: CallStream,
  isOpen: boolean,
  record: RequestRecord,
): RpcCall {
  const client = isOpen ? '' : (keys.identify(headers)?.client ?? '');
  const ownMs = timeoutMs === null || timeoutMs > MAX_TIMER_MS ? null : Math.ceil(timeoutMs);
  const signal = withDeadline(withDeadline(gone, ownMs), config.requestTimeoutMs);
  const account = client === '' ? networkOf(remoteAddress) : client;
  return { caller: { client, signal, record }, account, headers, socket: { remoteAddress } };
}

/**
 * Takes one request from the rate of whoever sent it. The operator has none.
 * @throws ApiError 429
 */
export async function charged(
  { rates }: Pick<ServerContext, 'rates'>,
  { caller, account }: RpcCall,
): Promise<Caller> {
  if (caller.client === ADMIN_CLIENT) return caller;
  const meter = await rates.takeRequest(account);
  return meter === undefined ? caller : { ...caller, meter };
}
