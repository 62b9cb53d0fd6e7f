/** /v1/messages/count_tokens, as Anthropic has it. */
import type { Hono } from 'hono';
import { prepareChat } from '../../front/chat/prepare-chat.ts';
import { callerOf } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { countTokensBody } from '../schemas/anthropic.ts';
import { parseWith } from '../schemas/parse.ts';
import { withModel } from '../model-access.ts';
import { parseTools, toChatRequest } from './chat-request.ts';

export function countTokensRoute(app: Hono<ServerEnv>, context: ServerContext): void {
  app.post('/v1/messages/count_tokens', async (c) => {
    const caller = callerOf(context, c);
    const json = await context.bodies.read(c.env.incoming, caller.client);
    return withModel(context, json, caller, async (model) => {
      const body = parseWith(countTokensBody, json);
      const request = toChatRequest(body, parseTools(body.tools).tools, model.model);
      const chat = await prepareChat(model, request, caller);
      return c.json({ input_tokens: chat.promptTokenIds.length });
    });
  });
}
