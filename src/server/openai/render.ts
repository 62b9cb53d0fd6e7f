/** The prompt that a chat comes to, without generating anything. */
import type { Hono } from 'hono';
import type { Caller } from '../../front/caller.ts';
import { callerOf } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { maxAnsweredTokens, requireAnswerable } from '../generation/prompt-length.ts';
import { chatCompletionBody } from '../schemas/bodies.ts';
import { parseMessages } from '../schemas/messages.ts';
import { parseWith } from '../schemas/parse.ts';
import type { JsonObject } from './answer.ts';
import { encodeChat } from './chat-prompt.ts';
import { requireServedModel } from './models.ts';

export function renderRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  // The first is vLLM's name for it, the second llama.cpp's.
  for (const path of ['/v1/chat/completions/render', '/apply-template']) {
    app.post(path, async (c) => {
      const caller = callerOf(context, c);
      const json = await context.bodies.read(c.env.incoming, caller.client);
      return c.json(await render(context, json, caller));
    });
  }
}

async function render(context: ServerContext, json: unknown, caller: Caller): Promise<JsonObject> {
  const body = parseWith(chatCompletionBody, json);
  requireServedModel(context.model, body.model);
  const messages = parseMessages(body['messages']);
  const maxTokens = maxAnsweredTokens(context.model);
  const { text, tokenIds } = await encodeChat(context, messages, body, maxTokens, caller);
  requireAnswerable(tokenIds.length, context.model, 'messages');
  return {
    prompt: text,
    token_ids: [...tokenIds],
    count: tokenIds.length,
    max_model_len: context.model.maxModelLen,
  };
}
