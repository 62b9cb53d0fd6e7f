/** The two completion routes: body in, JSON or an event stream out. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context, Hono } from 'hono';
import type { Caller } from '../../front/caller.ts';
import { callerOf } from '../auth/auth.ts';
import type { ModelContext, ServerContext, ServerEnv } from '../context.ts';
import { PLAIN_EVENTS, writeEventStream } from '../http/sse.ts';
import type { Sendable } from '../http/written-json.ts';
import { requireServing } from '../generation/start-generation.ts';
import { acquireModel } from '../model-access.ts';
import { toApiError } from '../to-api-error.ts';
import { eventsWhenLoaded, isLoading, wantsStream } from '../while-loading.ts';
import { prepareChatCompletion } from './chat-completions.ts';
import { prepareCompletion } from './completions.ts';
import type { PreparedCompletion } from './response.ts';

export type Prepare = (
  context: ModelContext,
  json: unknown,
  caller: Caller,
) => Promise<PreparedCompletion>;

/** What each path of a completion API takes, over HTTP and WebSocket alike. */
export const COMPLETION_PATHS: ReadonlyMap<string, Prepare> = new Map([
  ['/v1/chat/completions', prepareChatCompletion],
  ['/v1/completions', prepareCompletion],
]);

export function completionRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  for (const [path, prepare] of COMPLETION_PATHS) {
    app.post(path, (c) => answer(c, context, prepare));
  }
}

async function answer(
  c: Context<ServerEnv>,
  context: ServerContext,
  prepare: Prepare,
): Promise<Response> {
  const caller = callerOf(context, c);
  requireServing(context, caller.client);
  const json = await context.bodies.read(c.env.incoming, caller.client);
  const acquiring = acquireModel(context, json, caller);
  if (wantsStream(json) && (await isLoading(acquiring, context.config))) {
    // The client and proxies between hear that all is well; what fails from here on is an event.
    const chunks = eventsWhenLoaded(acquiring, async (model) =>
      (await prepare(model, json, caller)).chunks(caller),
    );
    return streamTo(c, context, chunks);
  }
  const { model, release } = await acquiring;
  try {
    const completion = await prepare(model, json, caller);
    if (completion.stream) {
      return await streamTo(c, context, await completion.chunks(caller));
    }
    return c.json(await completion.whole(caller));
  } finally {
    release();
  }
}

async function streamTo(
  c: Context<ServerEnv>,
  { config, logger }: ServerContext,
  chunks: AsyncIterable<readonly Sendable[]>,
): Promise<Response> {
  await writeEventStream(c.env.outgoing, chunks, {
    style: PLAIN_EVENTS,
    pingMs: config.ssePingMs,
    // A response never sent: it holds the headers that middlewares have set.
    headers: c.body(null).headers,
    toErrorEvent: (error) => ({ ...toApiError(error, logger).toEnvelope() }),
    record: c.get('record'),
  });
  return RESPONSE_ALREADY_SENT;
}
