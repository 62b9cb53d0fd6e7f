/** Errors in Ollama's form: a text and nothing else. */
import { type ApiError, codeIfTooLong } from '../errors.ts';
import type { JsonObject } from '../json-object.ts';

/** Whether `path` belongs to the API whose errors look like this. */
export function isOllamaPath(path: string): boolean {
  return path.startsWith('/api/');
}

export function toOllamaError(error: ApiError): JsonObject {
  return { error: error.message, ...codeIfTooLong(error) };
}
