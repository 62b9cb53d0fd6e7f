/** Answers that grow line by line. */
import type { Context } from 'hono';
import type { ServerContext, ServerEnv } from '../context.ts';
import { answerStream } from '../http/answer-stream.ts';
import { JSON_LINES } from '../http/sse.ts';
import type { JsonObject } from '../json-object.ts';
import { toOllamaError } from './errors.ts';

/** A failure becomes the last line. */
export const LINES = { style: JSON_LINES, toEvent: toOllamaError };

export function writeLines(
  c: Context<ServerEnv>,
  context: ServerContext,
  lines: AsyncIterable<readonly JsonObject[]>,
): Promise<Response> {
  return answerStream(c, context, lines, LINES);
}
