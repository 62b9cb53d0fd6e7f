/** The prompt that a chat comes to, without generating anything. */
import type { Hono } from 'hono';
import type { ServerContext, ServerEnv } from '../context.ts';
import { readJsonBody } from '../request-body.ts';
import { chatCompletionBody } from '../schemas/bodies.ts';
import { parseMessages } from '../schemas/messages.ts';
import { parseWith } from '../schemas/parse.ts';
import type { JsonObject } from './answer.ts';
import { renderChat } from './chat-prompt.ts';
import { requireServedModel } from './models.ts';

export function renderRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  // The first is vLLM's name for it, the second llama.cpp's.
  for (const path of ['/v1/chat/completions/render', '/apply-template']) {
    app.post(path, async (c) =>
      c.json(render(context, await readJsonBody(c.env.incoming, context.config.maxBodyBytes))),
    );
  }
}

function render(context: ServerContext, json: unknown): JsonObject {
  const body = parseWith(chatCompletionBody, json);
  requireServedModel(context.model, body.model);
  const prompt = renderChat(context, parseMessages(body['messages']), body);
  const tokenIds = [...context.tokenizer.encode(prompt, { addSpecialTokens: false })];
  return {
    prompt,
    token_ids: tokenIds,
    count: tokenIds.length,
    max_model_len: context.model.maxModelLen,
  };
}
