/** The prompt that a request comes to, without generating anything. */
import type { Hono } from 'hono';
import type { Caller } from '../../front/caller.ts';
import { withImages } from '../../front/chat/chat-images.ts';
import { encodeChat } from '../../front/chat/chat-prompt.ts';
import { toldTokenIds } from '../../front/generation/prompt-image.ts';
import { maxAnsweredTokens, requireAnswerable } from '../../front/prompts/prompt-length.ts';
import { callerOf } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import type { ServedText } from '../runtimes.ts';
import type { JsonObject } from '../json-object.ts';
import { badRequest } from '../errors.ts';
import { chatCompletionBody, tokenizeBody } from '../schemas/bodies.ts';
import { parseWith } from '../schemas/parse.ts';
import { withModel } from '../model-access.ts';
import { encodeText } from '../tokenize.ts';
import { toChatPrompt } from './chat-completions.ts';

/** Routers that look for a prompt's tokens read this too; our prompts are text alone. */
const NO_FEATURES = {
  mm_hashes: { image: [] },
  mm_placeholders: { image: [] },
  kwargs_data: { image: [] },
};

export function renderRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  const answers = [
    // The first is vLLM's name for it, the second llama.cpp's.
    ['/v1/chat/completions/render', renderChat],
    ['/apply-template', renderChat],
    ['/v1/completions/render', renderText],
  ] as const;
  for (const [path, answer] of answers) {
    app.post(path, async (c) => {
      const caller = callerOf(context, c);
      const json = await context.bodies.read(c.env.incoming, caller.client);
      return withModel(context, json, caller, async (model) =>
        c.json(await answer(model, json, caller)),
      );
    });
  }
}

/** A list of one, as in vLLM. */
async function renderText(
  served: ServedText,
  json: unknown,
  caller: Caller,
): Promise<JsonObject[]> {
  const { prompt, add_special_tokens: addSpecialTokens } = parseWith(tokenizeBody, json);
  if (prompt === undefined) {
    throw badRequest('`prompt` is required, as text.', 'prompt', 'missing_required_parameter');
  }
  const tokenIds = await encodeText(served, prompt, addSpecialTokens ?? true, caller);
  requireAnswerable(tokenIds.length, served.model, 'prompt');
  return [{ token_ids: [...tokenIds], features: null, count: tokenIds.length }];
}

async function renderChat(served: ServedText, json: unknown, caller: Caller): Promise<JsonObject> {
  const body = parseWith(chatCompletionBody, json);
  const options = { maxTokens: maxAnsweredTokens(served.model), field: 'messages' };
  const chat = await withImages(served, toChatPrompt(body), caller);
  const { text, tokenIds } = await encodeChat(served, chat, options, caller);
  requireAnswerable(tokenIds.length, served.model, 'messages');
  return {
    prompt: text,
    token_ids: [...toldTokenIds(tokenIds)],
    features: NO_FEATURES,
    count: tokenIds.length,
    max_model_len: served.model.maxModelLen,
  };
}
