/** Classes of images: a file in, labels and scores out, by the path of TorchServe. */
import type { Context, Hono } from 'hono';
import { callerOf } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { ApiError, badRequest, unavailable } from '../errors.ts';
import { mediaTypeOf } from '../http/request-body.ts';
import { acquireKind } from '../model-access.ts';
import { parseWith } from '../schemas/parse.ts';
import { parsePrediction, predictionQuery, type PredictionRequest } from './bodies.ts';

export const PREDICTIONS_PATH = '/predictions/:model{.+}';

export function predictionRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  app.post(PREDICTIONS_PATH, async (c) => {
    const caller = callerOf(context, c);
    if (context.isDraining()) throw unavailable('The server is shutting down.');
    const request = await readPrediction(c, context, caller.client);
    const model = c.req.param('model');
    const { runtime, release } = await acquireKind(context, { model }, caller, 'tensors');
    try {
      const { classifier } = runtime;
      if (classifier === null) {
        const message = `The model \`${runtime.model.id}\` takes tensors (/v2/models/.../infer), and no images: its chairlift.json has no section \`image\`.`;
        throw badRequest(message, 'model', 'model_not_supported');
      }
      return c.json(await classifier.classify(request.file, request, caller));
    } finally {
      release();
    }
  });
}

/** @throws ApiError 4xx */
async function readPrediction(
  c: Context<ServerEnv>,
  { bodies }: Pick<ServerContext, 'bodies'>,
  client: string,
): Promise<PredictionRequest> {
  const { incoming } = c.env;
  const { top_k: topK = null } = parseWith(predictionQuery, c.req.query());
  const type = mediaTypeOf(incoming.headers['content-type']);
  if (type === 'application/json') {
    const request = await parsePrediction(await bodies.read(incoming, client));
    return { ...request, topK: request.topK ?? topK };
  }
  // Whatever curl calls it; what it is its first bytes say.
  if (type.startsWith('multipart/')) {
    const message = 'Forms are not read: send the file itself, or JSON.';
    throw new ApiError(415, 'invalid_request_error', message, { code: 'unsupported_media_type' });
  }
  const { tail: file } = await bodies.readWithTail(incoming, client, 0);
  return { file, topK, function: null };
}
