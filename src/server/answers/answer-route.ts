/** A route that generates: body in, JSON or an event stream out, by whichever replica. */
import type { Context, Hono } from 'hono';
import type { Caller } from '../../front/caller.ts';
import { callerOf } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { badRequest, type ApiError } from '../errors.ts';
import { requireServing } from '../generation/start-generation.ts';
import { HttpSink } from './http-sink.ts';
import type { EventStyle } from '../http/sse.ts';
import type { JsonObject } from '../json-object.ts';
import { MovableAnswer } from '../resume/movable-answer.ts';
import {
  answerQuestion,
  HANDOVER_PATH,
  openSender,
  REPLICA_HEADER,
} from '../resume/replica-seal.ts';
import type { Prepare } from './prepared-answer.ts';
import { runAnswer, wantsStream } from './run-answer.ts';

export interface AnswerApi {
  readonly path: string;
  /** The same without `/v1`, for clients whose base URL lacks it; left out where no peer takes that. */
  readonly shortPath?: string;
  readonly prepare: Prepare;
  readonly style: EventStyle;
  /** A failure, as the last event of a stream. */
  readonly toEvent: (error: ApiError, requestId: string) => JsonObject;
}

/** The routes of `apis`, and that by which other replicas hand over requests of them. */
export function answerRoutes(
  app: Hono<ServerEnv>,
  context: ServerContext,
  apis: readonly AnswerApi[],
): void {
  for (const api of apis) {
    const paths = api.shortPath === undefined ? [api.path] : [api.path, api.shortPath];
    app.on('POST', paths, (c) => answer(c, context, api, callerOf(context, c)));
  }
  app.post(HANDOVER_PATH, async (c) => {
    const key = context.resumption?.key ?? null;
    const { headers } = c.env.incoming;
    const told = answerQuestion(key, headers);
    if (told !== null) {
      requireServing(context, '');
      c.header(REPLICA_HEADER, told);
      return c.body(null, 204);
    }
    const { path, client } = openSender(key, headers);
    const api = apis.find((other) => other.path === path);
    if (api === undefined) throw badRequest(`Answers of ${path} cannot be continued.`);
    c.set('apiPath', path);
    requireServing(context, client);
    return answer(c, context, api, { ...callerOf(context, c), client });
  });
}

async function answer(
  c: Context<ServerEnv>,
  context: ServerContext,
  { path, prepare, style, toEvent }: AnswerApi,
  caller: Caller,
): Promise<Response> {
  const { incoming } = c.env;
  const resumption = context.resumption ?? null;
  // Before the body is read, unless another server may answer it.
  if (!context.isDraining() || !resumption?.handover) requireServing(context, caller.client);
  const json = await context.bodies.read(incoming, caller.client);
  const movable = MovableAnswer.of(resumption, { path, json }, incoming.headers, caller);
  const requestId = c.get('requestId');
  const form = { style, toEvent: (error: ApiError) => toEvent(error, requestId) };
  const asked = { json, caller, movable, prepare, streams: wantsStream(movable?.json ?? json) };
  return runAnswer(context, asked, new HttpSink(c, context, form));
}
