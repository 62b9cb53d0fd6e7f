/** Errors as Cohere's clients read them. */
import { type ApiError, codeIfTooLong } from '../errors.ts';
import type { JsonObject } from '../json-object.ts';

/** Whether `path` belongs to the API whose errors look like this. */
export function isCoherePath(path: string): boolean {
  return path === '/v2/rerank' || path === '/v2/embed';
}

export function toCohereError(error: ApiError, requestId: string | null): JsonObject {
  return { id: requestId, message: error.message, ...codeIfTooLong(error) };
}
