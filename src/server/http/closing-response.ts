import { type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { isNearlyThere } from './unread-body.ts';

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

/** Says `Connection: close` where most of the request will not be read. */
export class ClosingResponse extends ServerResponse {
  override writeHead(status: number, reason?: string | Headers, headers?: Headers): this {
    if (!isNearlyThere(this.req)) this.shouldKeepAlive = false;
    return typeof reason === 'string'
      ? super.writeHead(status, reason, headers)
      : super.writeHead(status, reason ?? headers);
  }
}
