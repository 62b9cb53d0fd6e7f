/** Routes of one model: one for each method, whose path is split by hand (see `splitModelPath`). */
import type { Context, Hono } from 'hono';
import { callerOf } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { methodNotAllowed, routeNotFound, unavailable } from '../errors.ts';
import { holdAnswer } from '../http/hold-answer.ts';
import { requireServing } from '../generation/start-generation.ts';
import { readTensorBody } from './body.ts';
import { answerGenerate } from './generate.ts';
import { parseInferRequest, writeInferResponse } from './infer-body.ts';
import { infer } from './inference.ts';
import { isModelReady, modelMetadata } from './metadata.ts';
import { modelConfig } from './model-config.ts';
import { decodeModelPath, joinModelPath, type ModelPath, splitModelPath } from './model-path.ts';
import { rawLength } from './raw-tensor.ts';
import { sendInfer } from './send-infer.ts';
import { statisticsOf } from './statistics.ts';

const MODELS = '/v2/models/';

type Answer = (
  c: Context<ServerEnv>,
  context: ServerContext,
  target: ModelPath,
) => Response | Promise<Response>;

const GETS: Readonly<Record<string, Answer>> = {
  '': answerMetadata,
  ready: (c, context, { model, version }) => {
    if (isModelReady(context, model, version)) return c.json({ name: model, ready: true });
    throw unavailable(`Model \`${model}\` is not ready.`);
  },
  stats: (c, context, { model, version }) =>
    c.json({ model_stats: statisticsOf(context, model, version) }),
  config: async (c, context, { model, version }) =>
    c.json(modelConfig(await modelMetadata(context, model, version, callerOf(context, c)))),
};

const POSTS: Readonly<Record<string, Answer>> = {
  infer: answerInfer,
  generate: (c, context, target) => answerGenerate(c, context, { ...target, streams: false }),
  generate_stream: (c, context, target) => answerGenerate(c, context, { ...target, streams: true }),
};

/** Routes that the router's wildcards stand for: each route of a model, with and without a version. */
export const MODEL_PATTERNS: readonly { readonly method: string; readonly path: string }[] =
  Object.entries({ GET: GETS, POST: POSTS }).flatMap(([method, answers]) =>
    Object.keys(answers).flatMap((action) =>
      ['', ':version'].map((version) => ({ method, path: patternOf(action, version) })),
    ),
  );

export function modelRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  app.get(`${MODELS}stats`, (c) => c.json({ model_stats: statisticsOf(context, null, '') }));
  app.get(`${MODELS}*`, (c) => answer(c, context, GETS));
  app.post(`${MODELS}*`, (c) => answer(c, context, POSTS));
}

function answer(
  c: Context<ServerEnv>,
  context: ServerContext,
  answers: Readonly<Record<string, Answer>>,
): Response | Promise<Response> {
  const { method, path } = c.req;
  // A wildcard stands for nothing, too.
  if (path.length <= MODELS.length) throw routeNotFound(method, path);
  const target = splitModelPath(path.slice(MODELS.length), Object.keys(answers));
  const found = answers[target.action];
  if (found === undefined) throw methodNotAllowed(method, path, 'GET, HEAD');
  c.set('route', patternOf(target.action, target.version && ':version'));
  return found(c, context, decodeModelPath(target));
}

function patternOf(action: string, version: string): string {
  return MODELS + joinModelPath({ model: ':model', version, action });
}

async function answerMetadata(
  c: Context<ServerEnv>,
  context: ServerContext,
  { model, version }: ModelPath,
): Promise<Response> {
  const { name, versions, platform, inputs, outputs } = await modelMetadata(
    context,
    model,
    version,
    callerOf(context, c),
  );
  const described = inputs.map(({ name: input, datatype, shape }) => ({
    name: input,
    datatype,
    shape,
  }));
  return c.json({ name, versions, platform, inputs: described, outputs });
}

async function answerInfer(
  c: Context<ServerEnv>,
  context: ServerContext,
  { model, version }: ModelPath,
): Promise<Response> {
  const caller = callerOf(context, c);
  requireServing(context, caller.client);
  const { json, tail } = await readTensorBody(context, c.env.incoming, caller.client);
  const request = parseInferRequest(json ?? null, tail, { model, version });
  const response = await infer(context, request, caller);
  const numBytes = response.outputs.reduce((sum, tensor) => sum + rawLength(tensor), 0);
  holdAnswer(c, { numBytes });
  return sendInfer(c, writeInferResponse(response, request));
}
