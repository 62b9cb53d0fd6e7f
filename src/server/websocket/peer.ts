import type { TokenMeter } from '../../front/caller.ts';

/** Who is at the other end of a socket. */
export interface Peer {
  /** As in `Caller`. */
  readonly client: string;
  /** Takes one request from its rate. @throws ApiError 429 */
  takeRequest(): Promise<TokenMeter | undefined>;
}
