/** Reads a JSON request body, bounded, straight from Node's request. */
import type { IncomingMessage } from 'node:http';
import { ApiError, badRequest, bodyTooLarge, unsupportedMediaType } from './errors.ts';
import { withExactSeed } from './schemas/exact-seed.ts';

/**
 * The parsed JSON body of `incoming`.
 * @param limitBytes holds for bodies with a Content-Length and for chunked ones.
 * @throws ApiError 415 for another media type, 413 past the limit, 400 for what is not JSON.
 */
export async function readJsonBody(
  incoming: IncomingMessage,
  limitBytes: number,
): Promise<unknown> {
  requireJsonMediaType(incoming.headers['content-type']);
  const declaredBytes = Number(incoming.headers['content-length'] ?? 0);
  if (declaredBytes > limitBytes) throw bodyTooLarge(limitBytes);
  const body = await readBytes(incoming, limitBytes);
  return parseJson(body.toString('utf8'));
}

/**
 * The value of a JSON text; its `seed` may be a bigint.
 * @throws ApiError 400 when `text` is not JSON.
 */
export function parseJson(text: string): unknown {
  try {
    return withExactSeed(JSON.parse(text), text);
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 200) : String(error);
    throw badRequest(`The request is not valid JSON: ${reason}.`, null, 'invalid_json');
  }
}

function requireJsonMediaType(contentType: string | undefined): void {
  const mediaType = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType !== 'application/json') throw unsupportedMediaType(contentType);
}

function readBytes(incoming: IncomingMessage, limitBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let numBytes = 0;
    const settle = (finish: () => void): void => {
      incoming.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      finish();
    };
    const onData = (chunk: Buffer): void => {
      numBytes += chunk.length;
      if (numBytes > limitBytes) settle(() => reject(bodyTooLarge(limitBytes)));
      else chunks.push(chunk);
    };
    const onEnd = (): void => settle(() => resolve(Buffer.concat(chunks)));
    const onClose = (): void =>
      settle(() => reject(new ApiError(408, 'invalid_request_error', 'The body was cut short.')));
    incoming.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}
