/** /tokenize and /detokenize, as vLLM has them. */
import type { Hono } from 'hono';
import type { Caller } from '../front/caller.ts';
import { callerOf } from './auth.ts';
import type { ServerContext, ServerEnv } from './context.ts';
import { badRequest } from './errors.ts';
import type { JsonObject } from './openai/answer.ts';
import { encodeChat } from './openai/chat-prompt.ts';
import { requireServedModel } from './openai/models.ts';
import { requireInVocabulary } from './parameters.ts';
import { readJsonBody } from './request-body.ts';
import { detokenizeBody, tokenizeBody } from './schemas/bodies.ts';
import { parseMessages } from './schemas/messages.ts';
import { parseWith } from './schemas/parse.ts';
import { parseTokenIds } from './schemas/prompt.ts';

export function tokenizeRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  const { maxBodyBytes } = context.config;
  app.post('/tokenize', async (c) =>
    c.json(
      await tokenize(
        context,
        await readJsonBody(c.env.incoming, maxBodyBytes),
        callerOf(context, c),
      ),
    ),
  );
  app.post('/detokenize', async (c) =>
    c.json(detokenize(context, await readJsonBody(c.env.incoming, maxBodyBytes))),
  );
}

async function tokenize(
  context: ServerContext,
  json: unknown,
  caller: Caller,
): Promise<JsonObject> {
  const body = parseWith(tokenizeBody, json);
  requireServedModel(context.model, body.model);
  let tokens: number[];
  if (body.prompt !== undefined) {
    const addSpecialTokens = body.add_special_tokens ?? true;
    const encoded = await context.prompts.encodeTexts([body.prompt], addSpecialTokens, caller);
    tokens = encoded.flatMap((tokenIds) => [...tokenIds]);
  } else if (body['messages'] !== undefined) {
    const messages = parseMessages(body['messages']);
    tokens = [...(await encodeChat(context, messages, body, caller)).tokenIds];
  } else {
    throw badRequest('`prompt` or `messages` is required.', 'prompt', 'missing_required_parameter');
  }
  return {
    count: tokens.length,
    max_model_len: context.model.maxModelLen,
    tokens,
    token_strs: body.return_token_strs === true ? toStrings(context, tokens) : null,
  };
}

function detokenize(context: ServerContext, json: unknown): JsonObject {
  const body = parseWith(detokenizeBody, json);
  requireServedModel(context.model, body.model);
  const { tokens } = body;
  if (tokens === undefined) {
    throw badRequest('`tokens` is required.', 'tokens', 'missing_required_parameter');
  }
  const tokenIds =
    Array.isArray(tokens) && tokens.length === 0 ? [] : parseTokenIds(tokens, 'tokens');
  requireInVocabulary(tokenIds, 'tokens', context.model.vocabSize);
  return { prompt: context.tokenizer.decode(tokenIds, { skipSpecialTokens: false }) };
}

/** As the vocabulary spells them, such as `Ġthe`. */
function toStrings({ tokenizer }: ServerContext, tokens: readonly number[]): string[] {
  return tokens.map((tokenId) => tokenizer.idToToken(tokenId) ?? '');
}
