/** /v1/models: what is served here. */
import { basename } from 'node:path';
import type { Hono } from 'hono';
import type { ModelInfo } from '../../front/registry/model-entry.ts';
import { allAdapters, findAdapter, type FoundAdapter } from '../adapters/find-adapter.ts';
import { llamaStatus } from '../admin/llama-status.ts';
import type { AnyRuntime, ServerContext, ServerEnv } from '../context.ts';
import { modelNotFound } from '../errors.ts';
import type { JsonObject } from '../json-object.ts';
import { modelIdOf, severalVersions } from '../model-id.ts';

export function modelRoutes(app: Hono<ServerEnv>, context: ServerContext): void {
  app.get('/v1/models', async (c) =>
    c.json({ object: 'list', data: await describeModels(context, describeStatus) }),
  );
  // llama-server's, in its words; open to all, so that a page can tell what is served here.
  app.get('/models', async (c) =>
    c.json({ object: 'list', data: await describeModels(context, llamaStatus) }),
  );
  // Names may hold slashes, as those of the Hugging Face hub do.
  app.get('/v1/models/:id{.+}', async (c) => {
    const id = c.req.param('id');
    const all = context.models.list();
    const several = severalVersions(all);
    const info = all.find((each) => modelIdOf(several, each) === id);
    if (info === undefined) {
      const adapter = findAdapter(context, id);
      if (adapter === null) throw modelNotFound(id);
      const models = await describeModels(context, describeStatus);
      return c.json(describeAdapter(adapter, models));
    }
    return c.json(await describeModel(context, info, id, describeStatus));
  });
}

type StatusOf = (info: ModelInfo) => JsonObject;

/** Each model once by its name; where there are several versions, each by name@version. */
async function describeModels(context: ServerContext, statusOf: StatusOf): Promise<JsonObject[]> {
  const all = context.models.list();
  const several = severalVersions(all);
  const described = await Promise.all(
    all.map((info) => describeModel(context, info, modelIdOf(several, info), statusOf)),
  );
  return [...described, ...allAdapters(context).map((found) => describeAdapter(found, described))];
}

/** Of what is not loaded, what its files say. */
async function describeModel(
  { models, startedAt, describeModel: describe }: ServerContext,
  info: ModelInfo,
  id: string,
  statusOf: StatusOf,
): Promise<JsonObject> {
  const { name, version } = info;
  const runtime = models.runtimeOf(info);
  const definition = models.definitionOf(info);
  const facts = runtime || !definition ? null : ((await describe?.(definition)) ?? null);
  return {
    id,
    object: 'model',
    created: runtime?.model.created ?? startedAt,
    owned_by: 'chairlift',
    root: name,
    parent: null,
    max_model_len: runtime ? lengthOf(runtime) : (facts?.maxModelLen ?? null),
    capabilities: runtime ? capabilitiesOf(runtime) : (facts?.capabilities ?? null),
    version,
    status: statusOf(info),
  };
}

/** As its model, whose child it is. */
function describeAdapter(
  { adapter: { name, path }, base }: FoundAdapter,
  models: readonly JsonObject[],
): JsonObject {
  const parent = models.find(({ root, version }) => root === base.name && version === base.version);
  // Not where it lies on this machine.
  return { ...parent, id: name, root: basename(path), parent: parent?.['id'] ?? base.name };
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
