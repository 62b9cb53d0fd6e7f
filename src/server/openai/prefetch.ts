/** /v1/prefetch: has a prompt computed ahead of the requests that will begin with it. */
import type { Hono } from 'hono';
import type { Caller } from '../../front/caller.ts';
import { encodeChat } from '../../front/chat/chat-prompt.ts';
import { countImages } from '../../front/templates/chat-message.ts';
import { chatPrefix } from '../../front/prefetch/chat-prefix.ts';
import { HEARS_ALONE } from '../../front/generation/prompt-speech.ts';
import type { Prefetched } from '../../front/prefetch/prefetcher.ts';
import { callerOf, checkAdmin } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import type { ServedText } from '../runtimes.ts';
import { badRequest } from '../errors.ts';
import { chargedPrefetch } from '../generation/charged-prefetch.ts';
import { encodeOnePrompt } from '../generation/one-prompt.ts';
import { requireServing } from '../generation/start-generation.ts';
import type { JsonObject } from '../json-object.ts';
import { withModel } from '../model-access.ts';
import { chatCompletionBody } from '../schemas/bodies.ts';
import { parseWith } from '../schemas/parse.ts';
import { prefetchBody } from '../schemas/prefetch.ts';
import { toChatPrompt } from './chat-completions.ts';

export function prefetchRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  app.post('/v1/prefetch', async (c) => {
    const caller = callerOf(context, c);
    requireServing(context, caller.client);
    const json = await context.bodies.read(c.env.incoming, caller.client);
    const body = parseWith(prefetchBody, json);
    // A pinned prompt is found by all clients, and is kept longer than theirs.
    if (body.pin === true) checkAdmin(context, c.env.incoming);
    return withModel(context, json, caller, async (model) => {
      const tokenIds = await tokensOf(model, json, caller);
      const found = await compute(model, tokenIds, body, caller);
      return c.json(toAnswer(model, tokenIds.length, found));
    });
  });
}

async function compute(
  model: ServedText,
  tokenIds: Int32Array,
  body: {
    readonly pin?: boolean | null | undefined;
    readonly cache_salt?: string | null | undefined;
  },
  caller: Caller,
): Promise<Prefetched> {
  if (body.pin === true) return await model.pinned.pin(tokenIds, caller.signal);
  return await chargedPrefetch(model, tokenIds, body.cache_salt ?? '', caller);
}

/** @throws ApiError 400, InvalidRequestError; as PromptEncoder */
async function tokensOf(model: ServedText, json: unknown, caller: Caller): Promise<Int32Array> {
  if (model.speech) throw badRequest(HEARS_ALONE);
  const { maxModelLen } = model.model;
  const { prompt = null } = parseWith(prefetchBody, json);
  const field = prompt === null ? 'messages' : 'prompt';
  const tokenIds = await (prompt === null
    ? tokensOfChat(model, json, caller)
    : encodeOnePrompt(model, prompt, caller));
  if (tokenIds.length > 0 && tokenIds.length < maxModelLen) return tokenIds;
  const message = `\`${field}\` comes to ${tokenIds.length} tokens; expected 1 to ${maxModelLen - 1}, so that there is room for output.`;
  throw badRequest(message, field, 'context_length_exceeded');
}

async function tokensOfChat(model: ServedText, json: unknown, caller: Caller): Promise<Int32Array> {
  const chat = toChatPrompt(parseWith(chatCompletionBody, json));
  if (countImages(chat.messages) > 0) {
    const message = '`messages`: prompts with images are not computed ahead.';
    throw badRequest(message, 'messages', 'unsupported_parameter');
  }
  const isAsked = ['user', 'tool'].includes(chat.messages.at(-1)?.role ?? '');
  if (!isAsked) return await chatPrefix(model, chat, caller);
  const options = { maxTokens: model.model.maxModelLen, field: 'messages' };
  return (await encodeChat(model, chat, options, caller)).tokenIds;
}

function toAnswer(
  { model, engine }: ServedText,
  numTokens: number,
  { numCachedTokens }: Prefetched,
): JsonObject {
  const block = engine.info.kvBlockTokens;
  return {
    object: 'prefetch',
    model: model.id,
    prompt_tokens: numTokens,
    // Tokens that requests with this beginning find in the cache, in whole blocks.
    cached_tokens: numTokens - (numTokens % block),
    computed_tokens: numTokens - numCachedTokens,
  };
}
