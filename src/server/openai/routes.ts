/** The two completion routes: body in, JSON or an event stream out. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context, Hono } from 'hono';
import type { Caller } from '../../front/caller.ts';
import { callerOf } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { writeEventStream } from '../http/sse.ts';
import { requireServing, startGeneration } from '../generation/start-generation.ts';
import { toApiError } from '../to-api-error.ts';
import { gather, type PreparedCompletion } from './answer.ts';
import { prepareChatCompletion } from './chat-completions.ts';
import { prepareCompletion } from './completions.ts';

export type Prepare = (
  context: ServerContext,
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
  const completion = await prepare(context, json, caller);
  const deltas = await startGeneration(context, completion.request, caller);
  if (!completion.stream) {
    const whole = completion.whole(await gather(deltas, completion.request));
    const timing = timingOf(context, completion);
    if (timing !== null) c.header('server-timing', timing);
    return c.json(whole);
  }
  await writeEventStream(outgoing, deltas, completion.chunks(), {
    pingMs: context.config.ssePingMs,
    // A response never sent: it holds the headers that middlewares have set.
    headers: c.body(null).headers,
    toApiError: (error) => toApiError(error, context.logger),
    timing: () => timingOf(context, completion),
  });
  return RESPONSE_ALREADY_SENT;
}

/** Where the time went; of several prompts, that of the first. */
function timingOf(context: ServerContext, { request }: PreparedCompletion): string | null {
  const [first] = request.prompts;
  return first === undefined ? null : context.timings.header(first.promptTokenIds);
}
