/** Which requests that have ended are worth an operator's look. */
import { CLIENT_LEFT } from './peer.ts';
import type { FinishedRequest } from './finished-request.ts';
import type { Trouble, Troubles } from '../status/troubles.ts';

/** gRPC's codes that say that the server is to blame: unknown, internal, unavailable, data loss. */
const FAILED_CALLS: ReadonlySet<number> = new Set([2, 13, 14, 15]);
/** Done, and given up by the client. */
const FINE_CALLS: ReadonlySet<number> = new Set([0, 1]);

export function noteTrouble(troubles: Troubles, request: FinishedRequest): void {
  const { record, status = null, code } = request;
  // An answer that fails in its midst had its status before.
  const isBroken = record.finishReasons.has('error') || record.finishReasons.has('timeout');
  if (isBroken || isFailure(status, code)) troubles.failed(troubleOf(request));
  else if (isRefusal(status, code)) troubles.refused(troubleOf(request));
}

function isFailure(status: number | null, code: number | undefined): boolean {
  return code === undefined ? (status ?? 0) >= 500 : FAILED_CALLS.has(code);
}

function isRefusal(status: number | null, code: number | undefined): boolean {
  if (code !== undefined) return !FINE_CALLS.has(code);
  return status !== null && status >= 400 && status !== CLIENT_LEFT;
}

function troubleOf({
  record,
  method,
  route,
  status,
  code,
  errorCode,
  client,
}: FinishedRequest): Trouble {
  return {
    what: route === undefined ? method : `${method} ${route}`,
    status: status ?? null,
    code: errorCode ?? (code === undefined ? null : `grpc ${code}`),
    model: record.asked?.model ?? record.unavailableModel,
    client: client === '' ? null : client,
  };
}
