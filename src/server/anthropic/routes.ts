/** /v1/messages and /v1/messages/count_tokens, as Anthropic has them. */
import { randomUUID } from 'node:crypto';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context, Hono } from 'hono';
import type { Caller } from '../../front/caller.ts';
import { callerOf } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { writeNamedEvents } from '../http/named-events.ts';
import type { JsonObject } from '../openai/answer.ts';
import { prepareChat, type ChatDelta, type PreparedChat } from '../openai/chat-run.ts';
import { requireServedModel } from '../openai/models.ts';
import { countTokensBody, messagesBody } from '../schemas/anthropic.ts';
import { parseWith } from '../schemas/parse.ts';
import { requireServing } from '../generation/start-generation.ts';
import { toApiError } from '../to-api-error.ts';
import { MessageAnswer, type MessageEvent } from './answer.ts';
import { toAnthropicEnvelope } from './errors.ts';
import { fromChatError, toChatBody, toChatPrompt } from './to-chat.ts';

export function messageRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  app.post('/v1/messages', (c) => create(c, context));
  app.post('/v1/messages/count_tokens', async (c) => {
    const caller = callerOf(context, c);
    const json = await context.bodies.read(c.env.incoming, caller.client);
    const body = parseWith(countTokensBody, json);
    requireServedModel(context.model, body.model);
    const { promptTokenIds } = await prepare(context, toChatPrompt(body), caller);
    return c.json({ input_tokens: promptTokenIds.length });
  });
}

async function create(c: Context<ServerEnv>, context: ServerContext): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const caller = callerOf(context, c);
  requireServing(context, caller.client);
  const json = await context.bodies.read(incoming, caller.client);
  const body = parseWith(messagesBody, json);
  requireServedModel(context.model, body.model);
  const chat = await prepare(context, toChatBody(body), caller);
  const answer = new MessageAnswer(
    `msg_${randomUUID().replaceAll('-', '')}`,
    context.model.id,
    chat.promptTokenIds.length,
  );
  const deltas = await chat.start(caller).catch((error: unknown) => {
    throw fromChatError(error);
  });
  if (body.stream === true) {
    const events = eventsOf(answer, deltas, (error) =>
      toAnthropicEnvelope(toApiError(error, context.logger), c.get('requestId')),
    );
    await writeNamedEvents(outgoing, events, {
      pingMs: context.config.ssePingMs,
      // A response never sent: it holds the headers that middlewares have set.
      headers: c.body(null).headers,
    });
    return RESPONSE_ALREADY_SENT;
  }
  for await (const delta of deltas) answer.push(delta);
  answer.end();
  const timing = context.timings.header(chat.promptTokenIds);
  if (timing !== null) c.header('server-timing', timing);
  return c.json(answer.message());
}

async function* eventsOf(
  answer: MessageAnswer,
  deltas: AsyncIterable<ChatDelta>,
  toErrorEvent: (error: unknown) => JsonObject,
): AsyncGenerator<readonly MessageEvent[], void> {
  yield answer.start();
  try {
    for await (const delta of deltas) {
      const events = answer.push(delta);
      if (events.length > 0) yield events;
    }
    yield answer.end();
  } catch (error) {
    yield [{ ...toErrorEvent(error), type: 'error' }];
  }
}

async function prepare(
  context: ServerContext,
  body: JsonObject,
  caller: Caller,
): Promise<PreparedChat> {
  try {
    return await prepareChat(context, body, caller);
  } catch (error) {
    throw fromChatError(error);
  }
}
