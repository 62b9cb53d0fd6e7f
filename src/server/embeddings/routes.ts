/** Embeddings, reranking and scores, as OpenAI, Jina, Cohere, vLLM and TEI have them. */
import type { Context, Hono } from 'hono';
import type { Caller } from '../../front/caller.ts';
import { callerOf } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { unavailable } from '../errors.ts';
import { holdAnswer } from '../http/hold-answer.ts';
import { sendJsonPieces } from '../http/send-pieces.ts';
import { createId } from '../ids.ts';
import { acquireKind } from '../model-access.ts';
import type { Answer } from './answer.ts';
import {
  bytesOfVectors,
  rerankAnswer,
  scoreAnswer,
  teiEmbedAnswer,
  teiRerankAnswer,
} from './answers.ts';
import { parseTeiEmbed } from './bodies.ts';
import { classify, teiPredict } from './classification.ts';
import { cohereEmbed } from './cohere-embed.ts';
import { scoreMixed } from './mixed.ts';
import { pooling, teiEmbedAll } from './pooling.ts';
import { parseRerank, parseTeiRerank } from './rerank-body.ts';
import { parseScore } from './score-body.ts';
import { teiEmbedSparse } from './sparse.ts';
import { ZERO_SHOT_PATH, zeroShot } from './zero-shot.ts';
import { embeddingsOf, withOwnDeadline } from './embed.ts';
import type { EmbeddingRuntime } from './embedding-runtime.ts';

const ANSWERS: readonly (readonly [path: string, answer: Answer])[] = [
  ['/v1/embeddings', embed],
  ['/v1/rerank', rerank],
  ['/v2/rerank', rerank],
  // Jina's clients and TEI's call the same path; TEI's say `texts`.
  ['/rerank', (...asked) => (isTei(asked[1]) ? teiRerank : rerank)(...asked)],
  ['/v1/score', score],
  ['/score', score],
  ['/v2/embed', cohereEmbed],
  ['/embed', teiEmbed],
  ['/embed_all', teiEmbedAll],
  ['/embed_sparse', teiEmbedSparse],
  ['/pooling', pooling],
  ['/classify', classify],
  ['/predict', teiPredict],
  [ZERO_SHOT_PATH, zeroShot],
];

export function embeddingRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  for (const [path, answer] of ANSWERS) {
    app.post(path, async (c) => {
      const caller = callerOf(context, c);
      if (context.isDraining()) throw unavailable('The server is shutting down.');
      const json = await context.bodies.read(c.env.incoming, caller.client);
      const model = c.req.param('model');
      const named = model === undefined ? json : { ...Object(json), model };
      const images = context.images.ofRequest();
      const { runtime, release } = await acquireKind(context, named, caller, 'encoder', 'text');
      try {
        return await answer(runtime, json, withOwnDeadline(json, caller), c, images);
      } finally {
        images.release();
        release();
      }
    });
  }
}

async function embed(...[runtime, json, caller, c, images]: Parameters<Answer>): Promise<Response> {
  const { pieces, numBytes } = await embeddingsOf(runtime, json, caller, images);
  holdAnswer(c, { numBytes });
  return await sendJsonPieces(c, pieces);
}

async function rerank(
  ...[runtime, json, caller, c, images]: Parameters<Answer>
): Promise<Response> {
  const body = parseRerank(json);
  const options = { priority: body.priority ?? 0 };
  const sides = [[body.query], body.documents] as const;
  const scores = await scoreMixed(runtime, sides, options, caller, images);
  const ids = { id: createId('rerank-'), model: runtime.model.id };
  return c.json(rerankAnswer(scores, body, ids));
}

async function score(...[runtime, json, caller, c, images]: Parameters<Answer>): Promise<Response> {
  const { sides, priority } = parseScore(json);
  const scores = await scoreMixed(runtime, sides, { priority: priority ?? 0 }, caller, images);
  const created = Math.floor(Date.now() / 1000);
  const { id: model } = runtime.model;
  return c.json(scoreAnswer(scores, { id: createId('score-'), model, created }));
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
  const embeddings = await encoder.embed(inputs, options, caller);
  holdAnswer(c, { numBytes: bytesOfVectors(embeddings) });
  return await sendJsonPieces(c, teiEmbedAnswer(embeddings));
}

async function teiRerank(
  ...[runtime, json, caller, c, images]: Parameters<Answer>
): Promise<Response> {
  const body = parseTeiRerank(json);
  const options = { truncate: body.truncate ?? false };
  const sides = [[body.query], body.texts] as const;
  const scores = await scoreMixed(runtime, sides, options, caller, images);
  return c.json(teiRerankAnswer(scores, body));
}

function isTei(json: unknown): boolean {
  return typeof json === 'object' && json !== null && 'texts' in json;
}
