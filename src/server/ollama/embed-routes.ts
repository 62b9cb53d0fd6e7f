/** /api/embed, and the older /api/embeddings. */
import type { Context, Hono } from 'hono';
import type { Embeddings } from '../../front/embedding/embed-request.ts';
import { bytesOfVectors, ollamaEmbedAnswer } from '../embeddings/answers.ts';
import { callerOf } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { holdAnswer } from '../http/hold-answer.ts';
import { sendJsonPieces } from '../http/send-pieces.ts';
import { acquireKind } from '../model-access.ts';
import { ollamaEmbedBody, ollamaEmbeddingsBody } from '../schemas/ollama.ts';
import { parseWith } from '../schemas/parse.ts';
import { toRegistryName } from './names.ts';

const NS_PER_MS = 1e6;

interface EmbedRequest {
  /** Null for the first that is loaded. */
  readonly model: string | null;
  readonly inputs: readonly string[];
  readonly dimensions: number | null;
  /** Whether texts that are too long are cut, as Ollama does unless told otherwise. */
  readonly truncate: boolean;
}

export function embedRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  app.post('/api/embed', async (c) => {
    const startedAt = performance.now();
    const { embeddings, model, loadMs } = await embed(c, context, (json) => {
      const { input, ...body } = parseWith(ollamaEmbedBody, json);
      return {
        model: body.model ?? null,
        inputs: typeof input === 'string' ? [input] : input,
        dimensions: body.dimensions ?? null,
        truncate: body.truncate ?? true,
      };
    });
    const rest = {
      total_duration: Math.round((performance.now() - startedAt) * NS_PER_MS),
      load_duration: Math.round(loadMs * NS_PER_MS),
      prompt_eval_count: embeddings.numTokens,
    };
    holdAnswer(c, { numBytes: bytesOfVectors(embeddings) });
    return await sendJsonPieces(c, ollamaEmbedAnswer(embeddings, model, rest));
  });
  app.post('/api/embeddings', async (c) => {
    const { embeddings } = await embed(c, context, (json) => {
      const { model, prompt } = parseWith(ollamaEmbeddingsBody, json);
      return { model: model ?? null, inputs: [prompt], dimensions: null, truncate: true };
    });
    return c.json({ embedding: Array.from(embeddings.vectors[0] ?? []) });
  });
}

async function embed(
  c: Context<ServerEnv>,
  context: ServerContext,
  parse: (json: unknown) => EmbedRequest,
): Promise<{ embeddings: Embeddings; model: string; loadMs: number }> {
  const caller = callerOf(context, c);
  const json = await context.bodies.read(c.env.incoming, caller.client);
  const { model, inputs, ...options } = parse(json);
  const askedAt = performance.now();
  const name = model === null ? null : toRegistryName(model, context.models.list());
  const named = { ...(json as object), model: name };
  const { runtime, release } = await acquireKind(context, named, caller, 'encoder', 'text');
  try {
    const loadMs = performance.now() - askedAt;
    const embeddings = await runtime.encoder.embed(inputs, options, caller);
    return { embeddings, model: model ?? runtime.model.id, loadMs };
  } finally {
    release();
  }
}
