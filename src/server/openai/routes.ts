/** The two completion routes: body in, JSON or an event stream out. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context, Hono } from 'hono';
import type { Caller } from '../../front/caller.ts';
import { callerOf } from '../auth/auth.ts';
import type { ModelContext, ServerContext, ServerEnv } from '../context.ts';
import { PLAIN_EVENTS, writeEventStream } from '../http/sse.ts';
import { requireServing } from '../generation/start-generation.ts';
import { withModel } from '../model-access.ts';
import { toApiError } from '../to-api-error.ts';
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
  const { incoming, outgoing } = c.env;
  const caller = callerOf(context, c);
  requireServing(context, caller.client);
  const json = await context.bodies.read(incoming, caller.client);
  return withModel(context, json, caller, async (model) => {
    const completion = await prepare(model, json, caller);
    if (!completion.stream) {
      const whole = await completion.whole(caller);
      const timing = timingOf(context, completion);
      if (timing !== null) c.header('server-timing', timing);
      return c.json(whole);
    }
    await writeEventStream(outgoing, await completion.chunks(caller), {
      style: PLAIN_EVENTS,
      pingMs: context.config.ssePingMs,
      // A response never sent: it holds the headers that middlewares have set.
      headers: c.body(null).headers,
      toErrorEvent: (error) => ({ ...toApiError(error, context.logger).toEnvelope() }),
      timing: () => timingOf(context, completion),
    });
    return RESPONSE_ALREADY_SENT;
  });
}

/** Where the time went; of several prompts, that of the first. */
function timingOf({ timings }: ServerContext, completion: PreparedCompletion): string | null {
  return timings.header(completion.promptTokenIds);
}
