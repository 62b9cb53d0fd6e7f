/** Bodies of requests to /v2, which need not say that they are JSON. */
import type { IncomingMessage } from 'node:http';
import type { ServerContext } from '../context.ts';
import { badRequest, unsupportedMediaType } from '../errors.ts';

/** Bytes of the JSON in a body that goes on with raw tensors. */
const JSON_BYTES = 'inference-header-content-length';

/**
 * Triton's clients name no media type. Web pages can leave it out as well, without asking first; but
 * their browsers say that it is them.
 * @throws ApiError 4xx
 */
export async function readTensorBody(
  { bodies }: Pick<ServerContext, 'bodies'>,
  incoming: IncomingMessage,
  client: string,
): Promise<{ readonly json: unknown; readonly tail: Uint8Array }> {
  const { origin, [JSON_BYTES]: length, 'content-type': mediaType } = incoming.headers;
  const isJson = mediaType?.split(';', 1)[0]?.trim().toLowerCase() === 'application/json';
  if (origin !== undefined && !isJson) throw unsupportedMediaType(mediaType);
  if (length === undefined) return bodies.readWithTail(incoming, client, null);
  if (typeof length === 'string' && /^\d{1,15}$/.test(length)) {
    return bodies.readWithTail(incoming, client, Number(length));
  }
  throw badRequest('Inference-Header-Content-Length must be a number of bytes.');
}
