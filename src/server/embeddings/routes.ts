/** Embeddings, reranking and scores, as OpenAI, Jina, Cohere, vLLM and TEI have them. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context, Hono } from 'hono';
import type { Caller } from '../../front/caller.ts';
import { callerOf } from '../auth/auth.ts';
import type { EncoderRuntime, ServerContext, ServerEnv, TextRuntime } from '../context.ts';
import { unavailable } from '../errors.ts';
import { withDeadline } from '../generation/deadline.ts';
import { writeJsonPieces } from '../http/json-pieces.ts';
import { createId } from '../ids.ts';
import { acquireKind } from '../model-access.ts';
import {
  embeddingsAnswer,
  rerankAnswer,
  scoreAnswer,
  teiEmbedAnswer,
  teiRerankAnswer,
} from './answers.ts';
import {
  parseEmbeddings,
  parseRerank,
  parseScore,
  parseTeiEmbed,
  parseTeiRerank,
} from './bodies.ts';

/** What makes vectors and scores: encoders, and models that generate text. */
type EmbeddingRuntime = Pick<EncoderRuntime | TextRuntime, 'encoder' | 'model'>;

/** Answers a body with the model that it names. */
type Answer = (
  runtime: EmbeddingRuntime,
  json: unknown,
  caller: Caller,
  c: Context<ServerEnv>,
) => Promise<Response>;

const ANSWERS: readonly (readonly [path: string, answer: Answer])[] = [
  ['/v1/embeddings', embed],
  ['/v1/rerank', rerank],
  ['/v2/rerank', rerank],
  // Jina's clients and TEI's call the same path; TEI's say `texts`.
  ['/rerank', (...of) => (isTei(of[1]) ? teiRerank(...of) : rerank(...of))],
  ['/v1/score', score],
  ['/score', score],
  ['/embed', teiEmbed],
];

export function embeddingRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  for (const [path, answer] of ANSWERS) {
    app.post(path, async (c) => {
      const caller = callerOf(context, c);
      if (context.isDraining()) throw unavailable('The server is shutting down.');
      const json = await context.bodies.read(c.env.incoming, caller.client);
      const { runtime, release } = await acquireKind(context, json, caller, 'encoder', 'text');
      try {
        return await answer(runtime, json, withOwnDeadline(json, caller), c);
      } finally {
        release();
      }
    });
  }
}

async function embed(
  { encoder, model }: EmbeddingRuntime,
  json: unknown,
  caller: Caller,
  c: Context<ServerEnv>,
): Promise<Response> {
  const body = parseEmbeddings(json);
  const options = {
    dimensions: body.dimensions ?? null,
    promptName: body.prompt_name ?? null,
    truncate: typeof body.truncate_prompt_tokens === 'number',
    priority: body.priority ?? 0,
  };
  const embeddings = await encoder.embed(body.inputs, options, caller);
  const pieces = embeddingsAnswer(embeddings, model.id, body.encoding_format ?? 'float');
  return await send(c, pieces);
}

async function rerank(
  { encoder, model }: EmbeddingRuntime,
  json: unknown,
  caller: Caller,
  c: Context<ServerEnv>,
): Promise<Response> {
  const body = parseRerank(json);
  const options = { priority: body.priority ?? 0 };
  const pairs = body.documents.map((document) => [body.query, document] as const);
  const scores = await encoder.score(pairs, options, caller);
  return c.json(rerankAnswer(scores, body, { id: createId('rerank-'), model: model.id }));
}

async function score(
  { encoder, model }: EmbeddingRuntime,
  json: unknown,
  caller: Caller,
  c: Context<ServerEnv>,
): Promise<Response> {
  const { pairs, priority } = parseScore(json);
  const scores = await encoder.score(pairs, { priority: priority ?? 0 }, caller);
  const created = Math.floor(Date.now() / 1000);
  return c.json(scoreAnswer(scores, { id: createId('score-'), model: model.id, created }));
}

async function teiEmbed(
  { encoder }: EmbeddingRuntime,
  json: unknown,
  caller: Caller,
  c: Context<ServerEnv>,
): Promise<Response> {
  const {
    inputs,
    dimensions = null,
    prompt_name: promptName = null,
    truncate,
  } = parseTeiEmbed(json);
  const options = { dimensions, promptName, truncate: truncate ?? false };
  return await send(c, teiEmbedAnswer(await encoder.embed(inputs, options, caller)));
}

async function teiRerank(
  { encoder }: EmbeddingRuntime,
  json: unknown,
  caller: Caller,
  c: Context<ServerEnv>,
): Promise<Response> {
  const body = parseTeiRerank(json);
  const options = { truncate: body.truncate ?? false };
  const pairs = body.texts.map((text) => [body.query, text] as const);
  const scores = await encoder.score(pairs, options, caller);
  return c.json(teiRerankAnswer(scores, body));
}

function isTei(json: unknown): boolean {
  return typeof json === 'object' && json !== null && 'texts' in json;
}

/** Within the time that the body itself asks for. */
function withOwnDeadline(json: unknown, caller: Caller): Caller {
  const hasTimeout = typeof json === 'object' && json !== null && 'timeout' in json;
  const seconds = hasTimeout ? json.timeout : null;
  if (typeof seconds !== 'number' || !(seconds > 0) || seconds > MAX_TIMEOUT_SECONDS) {
    return caller;
  }
  return { ...caller, signal: withDeadline(caller.signal, Math.ceil(seconds * 1000)) };
}

/** As the bodies' schemas have it; what is longer they refuse. */
const MAX_TIMEOUT_SECONDS = 86_400;

async function send(c: Context<ServerEnv>, pieces: Iterable<string>): Promise<Response> {
  c.header('server-timing', c.get('record').serverTiming);
  // A response never sent: it holds the headers that middlewares have set.
  await writeJsonPieces(c.env.outgoing, pieces, c.body(null).headers);
  return RESPONSE_ALREADY_SENT;
}
