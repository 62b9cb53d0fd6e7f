/** /api/chat and /api/generate. */
import type { Context, Hono } from 'hono';
import type { Caller } from '../../front/caller.ts';
import { ChatDeltas } from '../../front/chat/chat-deltas.ts';
import { type PreparedChat, prepareChat } from '../../front/chat/prepare-chat.ts';
import { fitContext } from '../../front/generation/fit-context.ts';
import { mapStream } from '../../front/generation/map-stream.ts';
import { inClientWords, maxPromptTokens } from '../../front/prompts/prompt-length.ts';
import { parseDuration } from '../../front/registry/duration.ts';
import { callerOf, checkAdmin } from '../auth/auth.ts';
import type { ModelContext, ServerContext, ServerEnv } from '../context.ts';
import { requireServing, startChat } from '../generation/start-generation.ts';
import { withModel } from '../model-access.ts';
import { severalVersions } from '../model-id.ts';
import { ollamaChatBody, ollamaGenerateBody, type OllamaGenerateBody } from '../schemas/ollama.ts';
import { parseWith } from '../schemas/parse.ts';
import { rejectUnsupportedByOllama } from '../schemas/unsupported.ts';
import { type AnswerKind, emptyAnswer, GrowingAnswer } from './answer.ts';
import {
  parseOllamaMessages,
  toAnswerRequest,
  toChatRequest,
  toSingleTurn,
} from './chat-request.ts';
import { writeLines } from './lines.ts';
import { toOllamaName, toRegistryName } from './names.ts';

/** A body that was checked, as far as that can be done without its model. */
interface Asked {
  readonly kind: AnswerKind;
  readonly model: string | null;
  readonly keepAlive: unknown;
  readonly streams: boolean;
  /** Null when it asks nothing: the model is to be loaded, or unloaded. */
  readonly prepare: ((model: ModelContext, caller: Caller) => Promise<PreparedChat>) | null;
}

export function generationRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  app.post('/api/chat', (c) => answer(c, context, askedOfChat));
  app.post('/api/generate', (c) => answer(c, context, askedOfGenerate));
}

function askedOfChat(json: unknown): Asked {
  const body = parseWith(ollamaChatBody, json);
  rejectUnsupportedByOllama(body);
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
  rejectUnsupportedByOllama(body);
  const prompt = body.prompt ?? '';
  return {
    kind: 'generate',
    model: body.model ?? null,
    keepAlive: body.keep_alive,
    streams: body.stream ?? true,
    prepare:
      prompt === ''
        ? null
        : (model, caller) =>
            body.raw === true || !model.prompts.canChat
              ? prepareRaw(model, body, prompt, caller)
              : prepareChat(model, toSingleTurn(body, prompt, model), caller),
  };
}

/** A text to be continued. */
async function prepareRaw(
  model: ModelContext,
  body: OllamaGenerateBody,
  prompt: string,
  caller: Caller,
): Promise<PreparedChat> {
  const { settings, limits, responseFormat } = toAnswerRequest(body, model, 'prompt');
  const maxTokens = maxPromptTokens(null, model.model);
  const options = { addSpecialTokens: true, maxTokens };
  const [tokenIds = new Int32Array()] = await model.prompts
    .encodeTexts([prompt], options, caller)
    .catch((error: unknown) => {
      throw inClientWords(error, maxTokens, 'prompt');
    });
  const { maxModelLen } = model.model;
  const generation = fitContext({ ...settings, badWords: [] }, tokenIds, limits, maxModelLen);
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
  return withModel(context, named, caller, async (model) => {
    if (asked.prepare === null) return c.json(emptyAnswer(asked.kind, called, 'load'));
    const loadMs = performance.now() - startedAt;
    const chat = await asked.prepare(model, caller);
    const growing = new GrowingAnswer(asked.kind, called, chat.generation);
    const deltas = await startChat(model, chat, caller);
    const times = () => ({
      totalMs: performance.now() - startedAt,
      loadMs,
      prefillMs: caller.record?.msOf('prefill') ?? 0,
      decodeMs: caller.record?.msOf('decode') ?? 0,
    });
    if (!asked.streams) {
      for await (const delta of deltas) growing.add(delta);
      return c.json(growing.toJson(times()));
    }
    const lines = mapStream(
      deltas,
      (delta) => growing.push(delta),
      () => [growing.end(times())],
    );
    return writeLines(c, context, lines);
  });
}
