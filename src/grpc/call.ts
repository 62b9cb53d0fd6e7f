/** Whose a call is, and how long it may take. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Metadata } from '@grpc/grpc-js';
import type { Caller } from '../front/caller.ts';
import type { RequestRecord } from '../front/request-record.ts';
import type { ServerContext } from '../server/context.ts';
import { ADMIN_CLIENT } from '../server/auth/api-keys.ts';
import { FORWARDED } from '../server/auth/local-request.ts';
import { networkOf } from '../server/http/network-of.ts';
import { withDeadline } from '../server/generation/deadline.ts';

/** A call, as what answers it sees it. */
export interface RpcCall {
  readonly caller: Caller;
  /** Whose rate its requests are taken from. */
  readonly account: string;
  readonly headers: IncomingHttpHeaders;
  /** Of its connection, as requests over HTTP have it. */
  readonly socket: { readonly remoteAddress: string };
}

/** The part of grpc-js's calls that all kinds of them share. */
interface ServerCall {
  readonly metadata: Metadata;
  readonly cancelled: boolean;
  on(event: 'cancelled', listener: () => void): unknown;
  getDeadline(): Date | number;
  /** Address and port. */
  getPeer(): string;
}

const NAMES = ['x-api-key', 'authorization', 'traceparent', 'tracestate', 'origin', ...FORWARDED];

/** Timers of more milliseconds run out at once in Node. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** API keys, the client's trace and what proxies add come as metadata of the names that HTTP has for them. */
export function headersOf(metadata: Metadata): IncomingHttpHeaders {
  const text = (name: string): string | undefined => metadata.get(name)[0]?.toString();
  return Object.fromEntries(
    NAMES.flatMap((name) => {
      const value = text(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/**
 * To be asked for once, when the call begins. Its signal aborts when the client is gone, or its own
 * deadline or the server's is over.
 * @throws ApiError 401
 */
export function openCall(
  { keys, config }: Pick<ServerContext, 'keys' | 'config'>,
  call: ServerCall,
  isOpen: boolean,
  record: RequestRecord,
): RpcCall {
  const headers = headersOf(call.metadata);
  const client = isOpen ? '' : (keys.identify(headers)?.client ?? '');
  const gone = new AbortController();
  const leave = (): void => gone.abort(new Error('the client is gone'));
  if (call.cancelled) leave();
  call.on('cancelled', leave);
  const leftMs = Math.max(0, Number(call.getDeadline()) - Date.now());
  const ownMs = leftMs > MAX_TIMER_MS ? null : Math.ceil(leftMs);
  const signal = withDeadline(withDeadline(gone.signal, ownMs), config.requestTimeoutMs);
  const remoteAddress = call
    .getPeer()
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '');
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
