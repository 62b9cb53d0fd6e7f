/** Errors as the Open Inference Protocol has them. */
import { isCoherePath } from '../embeddings/cohere-error.ts';
import { type ApiError, codeIfTooLong } from '../errors.ts';
import type { JsonObject } from '../json-object.ts';

/** Whether `path` belongs to the API whose errors look like this. */
export function isKservePath(path: string): boolean {
  return (path === '/v2' || path.startsWith('/v2/')) && !isCoherePath(path);
}

export function toKserveEnvelope(error: ApiError): JsonObject {
  return { error: error.message, ...codeIfTooLong(error) };
}
