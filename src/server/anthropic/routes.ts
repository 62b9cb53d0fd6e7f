/** /v1/messages and /v1/messages/count_tokens, as Anthropic has them. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context, Hono } from 'hono';
import type { Caller } from '../../front/caller.ts';
import { prepareChat } from '../../front/chat/prepare-chat.ts';
import { mapStream } from '../../front/generation/map-stream.ts';
import { callerOf } from '../auth/auth.ts';
import type { ModelContext, ServerContext, ServerEnv } from '../context.ts';
import { requireServing, startChat } from '../generation/start-generation.ts';
import { NAMED_EVENTS, writeEventStream } from '../http/sse.ts';
import { countTokensBody, messagesBody } from '../schemas/anthropic.ts';
import { parseWith } from '../schemas/parse.ts';
import { withModel } from '../model-access.ts';
import { toApiError } from '../to-api-error.ts';
import { toChatRequest } from './chat-request.ts';
import { toAnthropicEnvelope } from './errors.ts';
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
  return withModel(context, json, caller, (model) => answer(c, model, json, caller));
}

async function answer(
  c: Context<ServerEnv>,
  context: ModelContext,
  json: unknown,
  caller: Caller,
): Promise<Response> {
  const body = parseWith(messagesBody, json);
  const chat = await prepareChat(context, toChatRequest(body, context.model), caller);
  const message = new GrowingMessage(context.model.id, chat.generation);
  const deltas = await startChat(context, chat, caller);
  if (body.stream === true) {
    const events = mapStream(
      deltas,
      (delta) => message.push(delta),
      () => message.end(),
    );
    await writeEventStream(c.env.outgoing, events, {
      style: NAMED_EVENTS,
      first: message.start(),
      pingMs: context.config.ssePingMs,
      // A response never sent: it holds the headers that middlewares have set.
      headers: c.body(null).headers,
      record: c.get('record'),
      toErrorEvent: (error) =>
        toAnthropicEnvelope(toApiError(error, context.logger), c.get('requestId')),
    });
    return RESPONSE_ALREADY_SENT;
  }
  for await (const delta of deltas) message.push(delta);
  message.end();
  return c.json(message.toJson());
}
