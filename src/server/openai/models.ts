/** /v1/models: what is served here. */
import type { Hono } from 'hono';
import type { ModelInfo } from '../../front/registry/model-entry.ts';
import { llamaStatus } from '../admin/llama-status.ts';
import type { AnyRuntime, ServerContext, ServerEnv } from '../context.ts';
import { modelNotFound } from '../errors.ts';
import type { JsonObject } from '../json-object.ts';
import { modelIdOf } from '../model-id.ts';

export function modelRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  app.get('/v1/models', (c) =>
    c.json({ object: 'list', data: describeModels(context, describeStatus) }),
  );
  // llama-server's, in its words; open to all, so that a page can tell what is served here.
  app.get('/models', (c) => c.json({ object: 'list', data: describeModels(context, llamaStatus) }));
  // Names may hold slashes, as those of the Hugging Face hub do.
  app.get('/v1/models/:id{.+}', (c) => {
    const id = c.req.param('id');
    const models = describeModels(context, describeStatus);
    const model = models.find((described) => described['id'] === id);
    if (model === undefined) throw modelNotFound(id);
    return c.json(model);
  });
}

/** Each model once by its name; where there are several versions, each by name@version too. */
function describeModels(
  { models, startedAt }: ServerContext,
  statusOf: (info: ModelInfo) => JsonObject,
): readonly JsonObject[] {
  const all = models.list();
  return all.map((info): JsonObject => {
    const { name, version } = info;
    const runtime = models.runtimeOf(info);
    return {
      id: modelIdOf(all, info),
      object: 'model',
      created: runtime?.model.created ?? startedAt,
      owned_by: 'chairlift',
      root: name,
      parent: null,
      max_model_len: runtime && lengthOf(runtime),
      capabilities: runtime && capabilitiesOf(runtime),
      version,
      status: statusOf(info),
    };
  });
}

/** Longest text in tokens; null for what takes none. */
function lengthOf(runtime: AnyRuntime): number | null {
  if (runtime.kind === 'text') return runtime.model.maxModelLen;
  return runtime.kind === 'encoder' ? runtime.encoder.maxTokens : null;
}

/** What may be asked of a model. */
function capabilitiesOf(runtime: AnyRuntime): readonly string[] {
  switch (runtime.kind) {
    case 'text':
      return runtime.prompts.canChat ? ['completions', 'chat'] : ['completions'];
    case 'encoder':
      return runtime.encoder.kind === 'embedding' ? ['embeddings'] : ['rerank', 'score'];
    case 'tensors':
      return ['infer'];
  }
}

function describeStatus({ state, reason }: ModelInfo): JsonObject {
  return { value: state, ...(reason === null ? {} : { reason }) };
}
