/** /v1/messages and /v1/messages/count_tokens, as Anthropic has them. */
import type { Context, Hono } from 'hono';
import type { Caller } from '../../front/caller.ts';
import type { ChatDelta } from '../../front/chat/chat-delta.ts';
import { prepareChat } from '../../front/chat/prepare-chat.ts';
import { mapStream } from '../../front/generation/map-stream.ts';
import { callerOf } from '../auth/auth.ts';
import type { ModelContext, ServerContext, ServerEnv } from '../context.ts';
import { requireServing, startChat } from '../generation/start-generation.ts';
import type { ApiError } from '../errors.ts';
import { answerStream } from '../http/answer-stream.ts';
import { NAMED_EVENTS } from '../http/sse.ts';
import type { Sendable } from '../http/written-json.ts';
import { countTokensBody, messagesBody } from '../schemas/anthropic.ts';
import { parseWith } from '../schemas/parse.ts';
import { acquireModel, withModel } from '../model-access.ts';
import { toChatRequest } from './chat-request.ts';
import { toAnthropicEnvelope } from './errors.ts';
import { eventsWhenLoaded, isLoading, wantsStream } from '../while-loading.ts';
import { GrowingMessage } from './message.ts';

export function messageRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  app.post('/v1/messages', (c) => create(c, context));
  app.post('/v1/messages/count_tokens', async (c) => {
    const caller = callerOf(context, c);
    const json = await context.bodies.read(c.env.incoming, caller.client);
    return withModel(context, json, caller, async (model) => {
      const request = toChatRequest(parseWith(countTokensBody, json), model.model);
      const chat = await prepareChat(model, request, caller);
      return c.json({ input_tokens: chat.promptTokenIds.length });
    });
  });
}

async function create(c: Context<ServerEnv>, context: ServerContext): Promise<Response> {
  const { incoming } = c.env;
  const caller = callerOf(context, c);
  requireServing(context, caller.client);
  const json = await context.bodies.read(incoming, caller.client);
  const acquiring = acquireModel(context, json, caller);
  if (wantsStream(json) && (await isLoading(acquiring, context.config))) {
    const events = eventsWhenLoaded(acquiring, async (model) => {
      const { message, deltas } = await start(model, json, caller);
      return withStart(message, deltas);
    });
    return streamTo(c, context, events);
  }
  const { model, release } = await acquiring;
  try {
    const { message, deltas } = await start(model, json, caller);
    if (wantsStream(json)) {
      return await streamTo(c, context, eventsOf(message, deltas), message.start());
    }
    for await (const delta of deltas) message.push(delta);
    message.end();
    return c.json(message.toJson());
  } finally {
    release();
  }
}

function eventsOf(message: GrowingMessage, deltas: AsyncIterableIterator<ChatDelta>) {
  return mapStream(
    deltas,
    (delta) => message.push(delta),
    () => message.end(),
  );
}

async function* withStart(message: GrowingMessage, deltas: AsyncIterableIterator<ChatDelta>) {
  yield message.start();
  yield* eventsOf(message, deltas);
}

async function start(context: ModelContext, json: unknown, caller: Caller) {
  const body = parseWith(messagesBody, json);
  const chat = await prepareChat(context, toChatRequest(body, context.model), caller);
  const message = new GrowingMessage(context.model.id, chat.generation);
  const deltas = await startChat(context, chat, caller);
  return { message, deltas };
}

function streamTo(
  c: Context<ServerEnv>,
  context: ServerContext,
  events: AsyncIterable<readonly Sendable[]>,
  first: readonly Sendable[] = [],
): Promise<Response> {
  const toEvent = (error: ApiError) => toAnthropicEnvelope(error, c.get('requestId'));
  return answerStream(c, context, events, { style: NAMED_EVENTS, first, toEvent });
}
