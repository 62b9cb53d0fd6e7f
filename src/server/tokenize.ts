/** /tokenize, /detokenize and /tokenizer_info, as vLLM has them. */
import type { Hono } from 'hono';
import type { Caller } from '../front/caller.ts';
import { encodeTexts } from '../front/prompts/encode-texts.ts';
import { withImages } from '../front/chat/chat-images.ts';
import { encodeChat } from '../front/chat/chat-prompt.ts';
import { toldTokenIds } from '../front/generation/prompt-image.ts';
import { maxAnsweredTokens, requireAnswerable } from '../front/prompts/prompt-length.ts';
import { LIMITS } from '../limits.ts';
import { callerOf } from './auth/auth.ts';
import type { ServerContext, ServerEnv } from './context.ts';
import type { ServedText } from './runtimes.ts';
import { badRequest } from './errors.ts';
import { LazyList } from './http/lazy-list.ts';
import { sendJson } from './http/send-pieces.ts';
import type { JsonObject } from './json-object.ts';
import { toChatPrompt } from './openai/chat-completions.ts';
import { requireInVocabulary } from './generation/parameters.ts';
import { detokenizeBody, tokenizeBody, tokenizerQuery } from './schemas/bodies.ts';
import { parseWith } from './schemas/parse.ts';
import { parseTokenIds } from './schemas/prompt.ts';
import { withModel } from './model-access.ts';

export function tokenizeRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  const answers = [
    ['/tokenize', tokenize],
    ['/detokenize', detokenize],
  ] as const;
  for (const [path, answer] of answers) {
    app.post(path, async (c) => {
      const caller = callerOf(context, c);
      const json = await context.bodies.read(c.env.incoming, caller.client);
      return withModel(context, json, caller, async (model) =>
        sendJson(c, await answer(model, json, caller)),
      );
    });
  }
  app.get('/tokenizer_info', async (c) => {
    const query = parseWith(tokenizerQuery, c.req.query());
    return withModel(context, query, callerOf(context, c), async (model) =>
      c.json(tokenizerInfo(model)),
    );
  });
}

/** Fields with paths on the machine of whoever saved the tokenizer. */
const PLACES: ReadonlySet<string> = new Set([
  'cache_dir',
  'name_or_path',
  'special_tokens_map_file',
  'tokenizer_file',
]);

/** Its tokenizer_config.json: lm-eval's remote tokenizer reads special tokens and the template. */
function tokenizerInfo({ tokenizer: { described }, model: { details } }: ServedText): JsonObject {
  const { tokenizer_class: name, ...rest } = described;
  const told = Object.entries(rest).filter(([field]) => !PLACES.has(field));
  // In force may be another than the folder's; see --chat-template.
  const template = details?.template ?? '';
  return {
    tokenizer_class: typeof name === 'string' ? name : 'PreTrainedTokenizerFast',
    ...Object.fromEntries(told),
    ...(template === '' ? {} : { chat_template: template }),
  };
}

async function tokenize(served: ServedText, json: unknown, caller: Caller): Promise<JsonObject> {
  const body = parseWith(tokenizeBody, json);
  let tokens: Int32Array;
  if (body.prompt !== undefined) {
    tokens = await encodeText(served, body.prompt, body.add_special_tokens ?? true, caller);
  } else if (body['messages'] !== undefined) {
    const options = { maxTokens: maxAnsweredTokens(served.model), field: 'messages' };
    const chat = await withImages(served, toChatPrompt(body), caller);
    tokens = toldTokenIds((await encodeChat(served, chat, options, caller)).tokenIds);
  } else {
    throw badRequest('`prompt` or `messages` is required.', 'prompt', 'missing_required_parameter');
  }
  requireAnswerable(tokens.length, served.model, body.prompt === undefined ? 'messages' : 'prompt');
  return {
    count: tokens.length,
    max_model_len: served.model.maxModelLen,
    tokens: LazyList.from(tokens, Number),
    token_strs: body.return_token_strs === true ? toStrings(served, tokens) : null,
    ...(body.return_token_bytes === true ? { token_bytes: toBytes(served, tokens) } : {}),
  };
}

async function detokenize(served: ServedText, json: unknown, caller: Caller): Promise<JsonObject> {
  const body = parseWith(detokenizeBody, json);
  const { tokens } = body;
  if (tokens === undefined) {
    throw badRequest('`tokens` is required.', 'tokens', 'missing_required_parameter');
  }
  const tokenIds =
    Array.isArray(tokens) && tokens.length === 0
      ? []
      : parseTokenIds(tokens, 'tokens', maxAnsweredTokens(served.model));
  requireInVocabulary(tokenIds, 'tokens', served.model.vocabSize);
  return { prompt: await served.prompts.decode(tokenIds, caller) };
}

/** The tokens of a raw prompt. @throws ApiError 400 when it can't fit the model */
export async function encodeText(
  { prompts, model }: ServedText,
  text: string,
  addSpecialTokens: boolean,
  caller: Caller,
): Promise<Int32Array> {
  const options = { maxTokens: maxAnsweredTokens(model), field: 'prompt', addSpecialTokens };
  const [tokenIds = new Int32Array()] = await encodeTexts({ prompts }, [text], options, caller);
  return tokenIds;
}

/** As the vocabulary spells them, such as `Ġthe`. */
function toStrings({ tokenizer }: ServedText, tokens: Int32Array): LazyList<string> {
  return LazyList.from(tokens, (tokenId) => tokenizer.idToToken(tokenId) ?? '');
}

/**
 * Bytes that each token adds to a text; they may be part of a character.
 * @throws ApiError 400 of more than can be spelled out in a moment
 */
function toBytes({ tokenizer }: ServedText, tokens: Int32Array): number[][] {
  if (tokens.length > LIMITS.spelledTokens) {
    const message = `Bytes are given of at most ${LIMITS.spelledTokens} tokens, and these are ${tokens.length}.`;
    throw badRequest(message, 'return_token_bytes', 'invalid_value');
  }
  return Array.from(tokens, (tokenId) => {
    const piece = tokenizer.pieces.get(tokenId) ?? '';
    return [...(typeof piece === 'string' ? Buffer.from(piece) : piece)];
  });
}
