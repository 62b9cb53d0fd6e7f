/** /v1/models: what is served here. */
import type { Hono } from 'hono';
import type { ModelInfo } from '../../front/registry/model-entry.ts';
import type { AnyRuntime, ServerContext, ServerEnv } from '../context.ts';
import { modelNotFound } from '../errors.ts';
import type { JsonObject } from '../json-object.ts';

export function modelRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  // The second, llama.cpp's, is open to all, so that a page can tell what is served here.
  for (const path of ['/v1/models', '/models']) {
    app.get(path, (c) => c.json({ object: 'list', data: describeModels(context) }));
  }
  // Names may hold slashes, as those of the Hugging Face hub do.
  app.get('/v1/models/:id{.+}', (c) => {
    const id = c.req.param('id');
    const models = describeModels(context);
    const model = models.find((described) => described['id'] === id);
    if (model === undefined) throw modelNotFound(id);
    return c.json(model);
  });
}

/** Each model once by its name; where there are several versions, each by name@version too. */
function describeModels({ models, startedAt }: ServerContext): readonly JsonObject[] {
  const all = models.list();
  const loaded = models.loaded();
  const described = all.map((info): JsonObject => {
    const { name, version, state, reason } = info;
    const runtime = loaded.find(
      ({ definition }) => definition.name === name && definition.version === version,
    )?.runtime;
    return {
      id: isOnlyVersion(all, info) ? name : `${name}@${version}`,
      object: 'model',
      created: runtime?.model.created ?? startedAt,
      owned_by: 'chairlift',
      root: name,
      parent: null,
      max_model_len: runtime === undefined ? null : lengthOf(runtime),
      capabilities: runtime === undefined ? null : capabilitiesOf(runtime),
      version,
      status: { value: state, ...(reason === null ? {} : { reason }) },
    };
  });
  return described;
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

function isOnlyVersion(all: readonly ModelInfo[], { name }: ModelInfo): boolean {
  return all.filter((other) => other.name === name).length === 1;
}
