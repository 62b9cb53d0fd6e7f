/** The prompt that a chat comes to, without generating anything. */
import type { Hono } from 'hono';
import type { Caller } from '../../front/caller.ts';
import { encodeChat } from '../../front/chat/chat-prompt.ts';
import { maxAnsweredTokens, requireAnswerable } from '../../front/prompts/prompt-length.ts';
import { callerOf } from '../auth/auth.ts';
import type { ModelContext, ServerContext, ServerEnv } from '../context.ts';
import type { JsonObject } from '../json-object.ts';
import { chatCompletionBody } from '../schemas/bodies.ts';
import { parseWith } from '../schemas/parse.ts';
import { withModel } from '../model-access.ts';
import { toChatPrompt } from './chat-completions.ts';

export function renderRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  // The first is vLLM's name for it, the second llama.cpp's.
  for (const path of ['/v1/chat/completions/render', '/apply-template']) {
    app.post(path, async (c) => {
      const caller = callerOf(context, c);
      const json = await context.bodies.read(c.env.incoming, caller.client);
      return withModel(context, json, caller, async (model) =>
        c.json(await render(model, json, caller)),
      );
    });
  }
}

async function render(context: ModelContext, json: unknown, caller: Caller): Promise<JsonObject> {
  const body = parseWith(chatCompletionBody, json);
  const options = { maxTokens: maxAnsweredTokens(context.model), field: 'messages' };
  const { text, tokenIds } = await encodeChat(context, toChatPrompt(body), options, caller);
  requireAnswerable(tokenIds.length, context.model, 'messages');
  return {
    prompt: text,
    token_ids: [...tokenIds],
    count: tokenIds.length,
    max_model_len: context.model.maxModelLen,
  };
}
