/** Bodies of requests to /v2, in which raw tensors may follow the JSON. */
import type { IncomingMessage } from 'node:http';
import type { ServerContext } from '../context.ts';
import { badRequest } from '../errors.ts';

/** Bytes of the JSON in a body that goes on with raw tensors. */
const JSON_BYTES = 'inference-header-content-length';

/** @throws ApiError 4xx */
export async function readTensorBody(
  { bodies }: Pick<ServerContext, 'bodies'>,
  incoming: IncomingMessage,
  client: string,
): Promise<{ readonly json: unknown; readonly tail: Uint8Array }> {
  const length = incoming.headers[JSON_BYTES];
  if (length === undefined) return bodies.readWithTail(incoming, client, null);
  if (typeof length === 'string' && /^\d{1,15}$/.test(length)) {
    return bodies.readWithTail(incoming, client, Number(length));
  }
  throw badRequest('Inference-Header-Content-Length must be a number of bytes.');
}
