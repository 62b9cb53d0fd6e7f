import type { TokenMeter } from '../../front/caller.ts';
import type { FinishedRequest } from './finished-request.ts';

/** HTTP status for a client that does not wait for its answer. */
export const CLIENT_LEFT = 408;

/** Client at the other end of a socket. */
export interface Peer {
  /** As in `Caller`. */
  readonly client: string;
  /** Counts a request until what it returns is called; null when the client has too many on its sockets. */
  begin(): (() => void) | null;
  /** Takes one request from its rate. @throws ApiError 429 */
  takeRequest(): Promise<TokenMeter | undefined>;
  /** A request has its last frame. */
  finished(request: Pick<FinishedRequest, 'record' | 'requestId' | 'status' | 'errorCode'>): void;
}
