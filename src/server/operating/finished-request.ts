import type { IncomingHttpHeaders } from 'node:http';
import type { RequestRecord } from '../../front/request-record.ts';

/** A request that has ended, over HTTP, a WebSocket or gRPC. */
export interface FinishedRequest {
  readonly record: RequestRecord;
  /** Left out where requests have none. */
  readonly requestId?: string | undefined;
  /** Client of its key; empty without one. */
  readonly client: string;
  /** HTTP method such as `POST`, or `WS` for a frame of a WebSocket; the method's path in gRPC. */
  readonly method: string;
  /** As it was asked for, without its query; left out where the method says it. */
  readonly path?: string;
  /** The path's pattern. */
  readonly route?: string;
  /** HTTP status; a WebSocket's frames have the status that HTTP would have answered with. */
  readonly status?: number;
  /** The `code` of the error that it was refused with. */
  readonly errorCode?: string | undefined;
  /** Status code of gRPC. */
  readonly code?: number;
  readonly headers: IncomingHttpHeaders;
  /** A probe or scrape: worth a line only when debugging, and no span. */
  readonly isQuiet?: boolean;
}
