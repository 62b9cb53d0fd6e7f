/** A route that generates: body in, JSON or an event stream out, by whichever replica. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context, Hono } from 'hono';
import type { Caller } from '../../front/caller.ts';
import { ShuttingDownError } from '../../front/queue/admission.ts';
import { callerOf } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { badRequest, type ApiError } from '../errors.ts';
import { requireServing } from '../generation/start-generation.ts';
import { answerStream, type StreamForm } from '../http/answer-stream.ts';
import { RequestTurns } from '../http/request-turns.ts';
import { type EventStyle, passOn } from '../http/sse.ts';
import type { Sendable } from '../http/written-json.ts';
import type { JsonObject } from '../json-object.ts';
import { acquireModel } from '../model-access.ts';
import { MovableAnswer, RESUME_TOKEN_HEADER } from '../resume/movable-answer.ts';
import {
  answerQuestion,
  HANDOVER_PATH,
  openSender,
  REPLICA_HEADER,
} from '../resume/replica-seal.ts';
import { eventsWhenLoaded, isLoading, wantsStream } from '../while-loading.ts';
import type { Prepare } from './prepared-answer.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

export interface AnswerApi {
  readonly path: string;
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
  const turns = new RequestTurns();
  for (const api of apis) {
    app.post(api.path, (c) => answer(c, context, turns, api, callerOf(context, c)));
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
    if (api === undefined) throw badRequest(`No answer of ${path} can be continued.`);
    c.set('apiPath', path);
    requireServing(context, client);
    return answer(c, context, turns, api, { ...callerOf(context, c), client });
  });
}

async function answer(
  c: Context<ServerEnv>,
  context: ServerContext,
  turns: RequestTurns,
  api: AnswerApi,
  sender: Caller,
): Promise<Response> {
  const { client } = sender;
  const { incoming } = c.env;
  const resumption = context.resumption ?? null;
  if (!context.isDraining() || !resumption?.handover) requireServing(context, client);
  const body = await context.bodies.read(incoming, client);
  await turns.next();
  const request = { path: api.path, json: body };
  const movable = MovableAnswer.of(resumption, request, incoming.headers, sender);
  try {
    if (context.isDraining()) throw new ShuttingDownError();
    return await generate(c, context, api, { sender, body, movable });
  } catch (error) {
    if (!(error instanceof ShuttingDownError)) throw error;
    const elsewhere = await movable?.forward();
    if (!elsewhere) throw error;
    await passOn(c.env.outgoing, elsewhere, c.body(null).headers);
    return RESPONSE_ALREADY_SENT;
  }
}

interface Asked {
  readonly sender: Caller;
  readonly body: unknown;
  /** Null where its answer can't move. */
  readonly movable: MovableAnswer | null;
}

async function generate(
  c: Context<ServerEnv>,
  context: ServerContext,
  api: AnswerApi,
  { sender, body, movable }: Asked,
): Promise<Response> {
  const { json, caller } = movable ?? { json: body, caller: sender };
  const acquiring = acquireModel(context, json, caller);
  if (wantsStream(json) && (await isLoading(acquiring, context.config))) {
    // The client and proxies between hear that all is well; what fails from here on is an event.
    const chunks = eventsWhenLoaded(acquiring, async (model) =>
      (await api.prepare(model, json, caller)).chunks(caller),
    );
    // Without a token, which its client has if it was begun elsewhere.
    return streamTo(c, context, api, chunks, movable?.isResumed ? formOf(movable) : {});
  }
  const { model, release } = await acquiring;
  try {
    const prepared = await api.prepare(model, json, caller);
    if (!prepared.stream) {
      const run = () => prepared.whole(caller);
      const whole = await (movable ? movable.whole(run) : run());
      return typeof whole === 'string' ? c.body(whole, 200, JSON_TYPE) : c.json(whole);
    }
    const chunks = await prepared.chunks(caller);
    const token = movable?.token ?? null;
    if (movable === null || token === null) return await streamTo(c, context, api, chunks);
    c.header(RESUME_TOKEN_HEADER, token);
    return await streamTo(c, context, api, movable.stream(chunks), formOf(movable));
  } finally {
    release();
  }
}

function formOf(movable: MovableAnswer): Pick<StreamForm, 'eventId' | 'rest'> {
  return { eventId: () => movable.takeEventId(), rest: () => movable.rest };
}

function streamTo(
  c: Context<ServerEnv>,
  context: ServerContext,
  { style, toEvent }: AnswerApi,
  chunks: AsyncIterable<readonly Sendable[]>,
  options: Pick<StreamForm, 'eventId' | 'rest'> = {},
): Promise<Response> {
  const requestId = c.get('requestId');
  return answerStream(c, context, chunks, {
    style,
    toEvent: (error) => toEvent(error, requestId),
    ...options,
  });
}
