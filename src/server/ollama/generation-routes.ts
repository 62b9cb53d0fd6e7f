/** /api/chat and /api/generate. */
import type { Context, Hono } from 'hono';
import type { Caller } from '../../front/caller.ts';
import { ChatDeltas } from '../../front/chat/chat-deltas.ts';
import { type PreparedChat, prepareChat } from '../../front/chat/prepare-chat.ts';
import { fitContext } from '../../front/generation/fit-context.ts';
import { mapStream } from '../../front/generation/map-stream.ts';
import { encodeTexts } from '../../front/prompts/encode-texts.ts';
import { maxPromptTokens } from '../../front/prompts/prompt-length.ts';
import { parseDuration } from '../../front/registry/duration.ts';
import type { PreparedAnswer } from '../answers/prepared-answer.ts';
import { runAnswer } from '../answers/run-answer.ts';
import { callerOf, checkAdmin } from '../auth/auth.ts';
import { badRequest } from '../errors.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import type { ServedText } from '../runtimes.ts';
import { infillPrompt, requireInfill } from '../generation/infill-prompt.ts';
import { LogprobsFormat } from '../generation/logprobs-format.ts';
import { requireServing, startChat } from '../generation/start-generation.ts';
import { HttpSink } from '../answers/http-sink.ts';
import { withModel } from '../model-access.ts';
import { severalVersions } from '../model-id.ts';
import { ollamaChatBody, ollamaGenerateBody, type OllamaGenerateBody } from '../schemas/ollama.ts';
import { parseWith } from '../schemas/parse.ts';
import { rejectUnsupportedByOllama } from '../schemas/unsupported.ts';
import { type AnswerKind, type AnswerTimes, emptyAnswer, GrowingAnswer } from './answer.ts';
import {
  parseOllamaMessages,
  toAnswerRequest,
  toChatRequest,
  toSingleTurn,
} from './chat-request.ts';
import { LINES } from './lines.ts';
import { toOllamaName, toRegistryName } from './names.ts';

/** A body that was checked, as far as that can be done without its model. */
interface Asked {
  readonly kind: AnswerKind;
  readonly model: string | null;
  readonly keepAlive: unknown;
  readonly streams: boolean;
  /** Null when it asks nothing: the model is to be loaded, or unloaded. */
  readonly prepare: ((model: ServedText, caller: Caller) => Promise<PreparedChat>) | null;
}

export function generationRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  app.post('/api/chat', (c) => answer(c, context, askedOfChat));
  app.post('/api/generate', (c) => answer(c, context, askedOfGenerate));
}

function askedOfChat(json: unknown): Asked {
  const body = parseWith(ollamaChatBody, json);
  rejectUnsupportedByOllama(body, 'chat');
  const messages = parseOllamaMessages(body['messages']);
  return {
    kind: 'chat',
    model: body.model ?? null,
    keepAlive: body.keep_alive,
    streams: body.stream ?? true,
    prepare:
      messages.length === 0
        ? null
        : (model, caller) => prepareChat(model, toChatRequest(body, messages, model), caller),
  };
}

function askedOfGenerate(json: unknown): Asked {
  const body = parseWith(ollamaGenerateBody, json);
  rejectUnsupportedByOllama(body, 'generate');
  const prompt = body.prompt ?? '';
  const suffix = body.suffix ?? '';
  const hasImages = (body.images ?? []).length > 0;
  return {
    kind: 'generate',
    model: body.model ?? null,
    keepAlive: body.keep_alive,
    streams: body.stream ?? true,
    prepare:
      prompt === '' && suffix === '' && !hasImages
        ? null
        : (model, caller) => {
            const isText = suffix !== '' || body.raw === true || !model.prompts.canChat;
            if (hasImages && isText) {
              const message =
                '`images` are of chats: without `raw` and `suffix`, by a chat template.';
              throw badRequest(message, 'images', 'unsupported_parameter');
            }
            if (suffix !== '') return prepareInfill(model, body, { prompt, suffix }, caller);
            return body.raw === true || !model.prompts.canChat
              ? prepareRaw(model, body, prompt, caller)
              : prepareChat(model, toSingleTurn(body, prompt, model), caller);
          },
  };
}

/** A text to be continued. */
async function prepareRaw(
  model: ServedText,
  body: OllamaGenerateBody,
  prompt: string,
  caller: Caller,
): Promise<PreparedChat> {
  const options = { maxTokens: maxPromptTokens(null, model.model), field: 'prompt' };
  const [tokenIds = new Int32Array()] = await encodeTexts(model, [prompt], options, caller);
  return preparedText(model, body, tokenIds);
}

/** Fills in what is missing between two texts. */
async function prepareInfill(
  model: ServedText,
  body: OllamaGenerateBody,
  { prompt: prefix, suffix }: { readonly prompt: string; readonly suffix: string },
  caller: Caller,
): Promise<PreparedChat> {
  const infillStops = requireInfill(model, 'suffix');
  const options = { maxTokens: maxPromptTokens(null, model.model), field: 'prompt' };
  const text = { prefix, suffix, begun: '', snippets: [] };
  return preparedText(model, body, await infillPrompt(model, text, options, caller), infillStops);
}

function preparedText(
  model: ServedText,
  body: OllamaGenerateBody,
  tokenIds: Int32Array,
  stopTokenIds: readonly number[] = [],
): PreparedChat {
  const { settings, limits, responseFormat } = toAnswerRequest(body, model, 'prompt');
  const resolved = { ...settings, stopTokenIds, badWords: [] };
  const generation = fitContext(resolved, tokenIds, limits, model.model);
  const grammar = responseFormat === null ? {} : { grammar: responseFormat };
  return {
    generation: { prompts: [generation], numChoices: 1, ...grammar },
    promptTokenIds: generation.promptTokenIds,
    createDeltas: (answerId) =>
      new ChatDeltas({ grammar: null, reasoning: null, toolCalls: null }, answerId),
  };
}

async function answer(
  c: Context<ServerEnv>,
  context: ServerContext,
  parse: (json: unknown) => Asked,
): Promise<Response> {
  const startedAt = performance.now();
  const { incoming } = c.env;
  const caller = callerOf(context, c);
  requireServing(context, caller.client);
  const json = await context.bodies.read(incoming, caller.client);
  const asked = parse(json);
  const { models } = context;
  const all = models.list();
  const name = asked.model === null ? null : toRegistryName(asked.model, all);
  const called = asked.model ?? toOllamaName(models.find(name), severalVersions(all));
  if (asked.prepare === null && parseDuration(asked.keepAlive) === 0) {
    // As in other requests: without any keys `keep_alive` is everybody's.
    if (!context.keys.isUnguarded) checkAdmin(context, incoming);
    await models.unload(name ?? models.find(name).name);
    return c.json(emptyAnswer(asked.kind, called, 'unload'));
  }
  const named = { ...Object(json), model: name };
  const { kind, streams, prepare } = asked;
  if (prepare === null) {
    return withModel(context, named, caller, async () => c.json(emptyAnswer(kind, called, 'load')));
  }
  const answering = {
    json: named,
    caller,
    movable: null,
    streams,
    prepare: async (model: ServedText): Promise<PreparedAnswer> => {
      const loadMs = performance.now() - startedAt;
      const times = (): AnswerTimes => ({
        totalMs: performance.now() - startedAt,
        loadMs,
        prefillMs: caller.record?.msOf('prefill') ?? 0,
        decodeMs: caller.record?.msOf('decode') ?? 0,
      });
      const chat = await prepare(model, caller);
      const growing = new GrowingAnswer(kind, called, chat.generation, logprobsOf(model, chat));
      return toAnswer(model, chat, growing, { streams, times });
    },
  };
  return runAnswer(context, answering, new HttpSink(c, context, LINES));
}

function logprobsOf({ tokenizer }: ServedText, { generation }: PreparedChat) {
  const numTop = generation.prompts[0]?.logprobs ?? null;
  return numTop === null ? null : { format: new LogprobsFormat(tokenizer, false), numTop };
}

function toAnswer(
  model: ServedText,
  chat: PreparedChat,
  growing: GrowingAnswer,
  { streams, times }: { readonly streams: boolean; readonly times: () => AnswerTimes },
): PreparedAnswer {
  return {
    stream: streams,
    async chunks(starter) {
      return mapStream(
        await startChat(model, chat, starter),
        (delta) => growing.push(delta),
        () => [growing.end(times())],
      );
    },
    async whole(starter) {
      for await (const delta of await startChat(model, chat, starter)) growing.add(delta);
      return growing.toJson(times());
    },
  };
}
