/** Answers that grow line by line. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context } from 'hono';
import type { ServerContext, ServerEnv } from '../context.ts';
import { JSON_LINES, writeEventStream } from '../http/sse.ts';
import type { JsonObject } from '../json-object.ts';
import { toApiError } from '../to-api-error.ts';
import { toOllamaError } from './errors.ts';

/** A failure becomes the last line. */
export async function writeLines(
  c: Context<ServerEnv>,
  { config, logger }: ServerContext,
  lines: AsyncIterable<readonly JsonObject[]>,
): Promise<Response> {
  await writeEventStream(c.env.outgoing, lines, {
    style: JSON_LINES,
    pingMs: config.ssePingMs,
    // A response never sent: it holds the headers that middlewares have set.
    headers: c.body(null).headers,
    record: c.get('record'),
    toErrorEvent: (error) => toOllamaError(toApiError(error, logger)),
  });
  return RESPONSE_ALREADY_SENT;
}
