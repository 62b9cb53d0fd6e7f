/** Routes of one model. Names may hold slashes, as those of the Hugging Face hub do. */
import type { Context, Hono } from 'hono';
import { callerOf } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { unavailable } from '../errors.ts';
import { requireServing } from '../generation/start-generation.ts';
import { readTensorBody } from './body.ts';
import { answerGenerate } from './generate.ts';
import { parseInferRequest, writeInferResponse } from './infer-body.ts';
import { infer } from './inference.ts';
import { isModelReady, modelMetadata } from './metadata.ts';
import { modelConfig } from './model-config.ts';
import { statisticsOf } from './statistics.ts';

/** The first is looked at first: a name does not end with a version. */
const PREFIXES = ['/v2/models/:model{.+}/versions/:version', '/v2/models/:model{.+}'];

interface Target {
  readonly model: string;
  readonly version: string;
}

export function modelRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  app.get('/v2/models/stats', (c) => c.json({ model_stats: statisticsOf(context, null, '') }));
  for (const prefix of PREFIXES) {
    app.get(`${prefix}/ready`, (c) => {
      const { model, version } = targetOf(c);
      if (!isModelReady(context, model, version)) {
        throw unavailable(`Model \`${model}\` is not ready.`);
      }
      return c.json({ name: model, ready: true });
    });
    app.get(`${prefix}/stats`, (c) => {
      const { model, version } = targetOf(c);
      return c.json({ model_stats: statisticsOf(context, model, version) });
    });
    app.get(`${prefix}/config`, async (c) => {
      const { model, version } = targetOf(c);
      return c.json(
        modelConfig(await modelMetadata(context, model, version, callerOf(context, c))),
      );
    });
    app.post(`${prefix}/infer`, (c) => answerInfer(c, context));
    app.post(`${prefix}/generate`, (c) =>
      answerGenerate(c, context, { ...targetOf(c), streams: false }),
    );
    app.post(`${prefix}/generate_stream`, (c) =>
      answerGenerate(c, context, { ...targetOf(c), streams: true }),
    );
  }
  for (const prefix of PREFIXES) {
    app.get(prefix, async (c) => {
      const { model, version } = targetOf(c);
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
    });
  }
}

async function answerInfer(c: Context<ServerEnv>, context: ServerContext): Promise<Response> {
  const caller = callerOf(context, c);
  requireServing(context, caller.client);
  const { json, tail } = await readTensorBody(context, c.env.incoming, caller.client);
  const request = parseInferRequest(json ?? null, tail, targetOf(c));
  const body = writeInferResponse(await infer(context, request, caller), request);
  if (body.tail === null) return c.body(body.json, 200, { 'content-type': 'application/json' });
  const head = Buffer.from(body.json);
  return c.body(Buffer.concat([head, body.tail]), 200, {
    'content-type': 'application/octet-stream',
    'inference-header-content-length': String(head.length),
  });
}

function targetOf(c: Context<ServerEnv>): Target {
  return { model: c.req.param('model') ?? '', version: c.req.param('version') ?? '' };
}
