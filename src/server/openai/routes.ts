/** The two completion routes: body in, JSON or an event stream out. */
import type { Context, Hono } from 'hono';
import type { Caller } from '../../front/caller.ts';
import { callerOf } from '../auth/auth.ts';
import type { ModelContext, ServerContext, ServerEnv } from '../context.ts';
import { type ApiError, badRequest } from '../errors.ts';
import { answerStream, type StreamForm } from '../http/answer-stream.ts';
import { PLAIN_EVENTS } from '../http/sse.ts';
import type { Sendable } from '../http/written-json.ts';
import { requireServing } from '../generation/start-generation.ts';
import { acquireModel } from '../model-access.ts';
import { HANDOVER_PATH, handedOver } from '../resume/handover.ts';
import { MovableAnswer, RESUME_TOKEN_HEADER } from '../resume/movable-answer.ts';
import { eventsWhenLoaded, isLoading, wantsStream } from '../while-loading.ts';
import { prepareChatCompletion } from './chat-completions.ts';
import { prepareCompletion } from './completions.ts';
import type { PreparedCompletion } from './response.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

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
    app.post(path, (c) => answer(c, context, { path, prepare, caller: callerOf(context, c) }));
  }
  app.post(HANDOVER_PATH, (c) => {
    const { path, client } = handedOver(context.resumption ?? null, c.env.incoming.headers);
    const prepare = COMPLETION_PATHS.get(path);
    if (prepare === undefined) throw badRequest(`No answer of ${path} can be continued.`);
    return answer(c, context, { path, prepare, caller: { ...callerOf(context, c), client } });
  });
}

interface Route {
  readonly path: string;
  readonly prepare: Prepare;
  readonly caller: Caller;
}

async function answer(
  c: Context<ServerEnv>,
  context: ServerContext,
  { path, prepare, caller: sender }: Route,
): Promise<Response> {
  const { client } = sender;
  requireServing(context, client);
  const body = await context.bodies.read(c.env.incoming, client);
  const request = { path, client, json: body };
  const movable = MovableAnswer.of(context.resumption ?? null, request, c.env.incoming.headers);
  const json = movable?.json ?? body;
  const caller = movable ? { ...sender, answer: movable.answer } : sender;
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
      const chunks = await completion.chunks(caller);
      if (!movable?.answer.canBeTold) return await streamTo(c, context, chunks);
      c.header(RESUME_TOKEN_HEADER, movable.answer.token);
      return await streamTo(c, context, movable.stream(chunks), {
        eventId: () => movable.answer.takeEventId(),
        rest: () => movable.rest,
      });
    }
    const whole = await (movable
      ? movable.whole((moved) => {
          const signal = AbortSignal.any([caller.signal, moved]);
          return completion.whole({ ...caller, signal });
        })
      : completion.whole(caller));
    return typeof whole === 'string' ? c.body(whole, 200, JSON_TYPE) : c.json(whole);
  } finally {
    release();
  }
}

function streamTo(
  c: Context<ServerEnv>,
  context: ServerContext,
  chunks: AsyncIterable<readonly Sendable[]>,
  options: Pick<StreamForm, 'eventId' | 'rest'> = {},
): Promise<Response> {
  const toEvent = (error: ApiError) => ({ ...error.toEnvelope() });
  return answerStream(c, context, chunks, { style: PLAIN_EVENTS, toEvent, ...options });
}
