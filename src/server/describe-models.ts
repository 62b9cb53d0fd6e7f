/** Models as lists of them describe them. */
import { basename } from 'node:path';
import type { EncoderKind } from '../model/encoder/encoder-kind.ts';
import type { ModelInfo } from '../front/registry/model-entry.ts';
import type { KnownAdapter } from '../front/adapters/adapter-shelf.ts';
import { allAdapters, waitingAdapters } from './adapters/find-adapter.ts';
import type { ModelFacts, ServerContext } from './context.ts';
import type { AnyRuntime, TextRuntime } from './runtimes.ts';
import { modelNotFound } from './errors.ts';
import type { JsonObject } from './json-object.ts';
import { modelIdOf, severalVersions } from './model-id.ts';

/** @throws ApiError 404 */
export async function findModel(context: ServerContext, id: string): Promise<JsonObject> {
  const all = context.models.list();
  const several = severalVersions(all);
  const info = all.find((each) => modelIdOf(several, each) === id);
  if (info !== undefined) return await describeModel(context, info, id, describeStatus);
  const aliased = context.models.aliases().get(id);
  if (aliased !== undefined) return await describeModel(context, aliased, id, describeStatus);
  const models = await describeModels(context, describeStatus);
  const adapter = models.find((model) => model['parent'] !== null && model['id'] === id);
  if (adapter === undefined) throw modelNotFound(id);
  return adapter;
}

type StatusOf = (info: ModelInfo) => JsonObject;

/** Each model by its name and by its aliases; one of several versions by name@version. */
export async function describeModels(
  context: ServerContext,
  statusOf: StatusOf = describeStatus,
): Promise<JsonObject[]> {
  const all = context.models.list();
  const several = severalVersions(all);
  const described = await Promise.all(
    all.map((info) => describeModel(context, info, modelIdOf(several, info), statusOf)),
  );
  // A name that is an alias too stands for the model.
  const aliases = [...context.models.aliases()].filter(
    ([name]) => !all.some((info) => info.name === name),
  );
  return [
    ...described,
    ...(await Promise.all(
      aliases.map(([name, info]) => describeModel(context, info, name, statusOf)),
    )),
    ...allAdapters(context).map(({ adapter, base }) =>
      describeAdapter(
        adapter,
        described.find(({ root, version }) => root === base.name && version === base.version),
      ),
    ),
    ...waitingAdapters(context).map((known) =>
      describeAdapter(
        known,
        described.find(({ root }) => root === known.base),
      ),
    ),
  ];
}

/** Tasks that a model supports, as far as it or its files say; null if nothing is known. */
export async function capabilitiesOf(
  context: ServerContext,
  info: ModelInfo,
): Promise<readonly string[] | null> {
  const { runtime, facts } = await knownOf(context, info);
  return runtime ? capabilitiesOfRuntime(runtime) : (facts?.capabilities ?? null);
}

/** Runtime of a loaded model; otherwise the facts that its files give. */
async function knownOf(
  { models, describeModel: describe }: ServerContext,
  info: ModelInfo,
): Promise<{ readonly runtime: AnyRuntime | null; readonly facts: ModelFacts | null }> {
  const runtime = models.runtimeOf(info);
  const definition = models.definitionOf(info);
  const facts = runtime || !definition ? null : ((await describe?.(definition)) ?? null);
  return { runtime, facts };
}

async function describeModel(
  context: ServerContext,
  info: ModelInfo,
  id: string,
  statusOf: StatusOf,
): Promise<JsonObject> {
  const { name, version } = info;
  const { runtime, facts } = await knownOf(context, info);
  return {
    id,
    object: 'model',
    created: runtime?.model.created ?? context.startedAt,
    owned_by: 'chairlift',
    root: name,
    parent: null,
    max_model_len: runtime ? lengthOf(runtime) : (facts?.maxModelLen ?? null),
    capabilities: runtime ? capabilitiesOfRuntime(runtime) : (facts?.capabilities ?? null),
    ...(runtime?.kind === 'text' ? { default_sampling_params: samplingOf(runtime) } : {}),
    version,
    status: statusOf(info),
  };
}

/** As its model, whose child it is. */
function describeAdapter(
  { name, path }: Pick<KnownAdapter, 'name' | 'path'>,
  parent: JsonObject | undefined,
): JsonObject {
  // Not where it lies on this machine.
  return { ...parent, id: name, root: basename(path), parent: parent?.['id'] ?? null };
}

/** Longest text in tokens; null for what takes none. */
function lengthOf(runtime: AnyRuntime): number | null {
  if (runtime.kind === 'text') return runtime.model.maxModelLen;
  return runtime.kind === 'encoder' ? runtime.encoder.maxTokens : null;
}

/** Values of requests that leave a parameter out. */
function samplingOf({ model: { samplingDefaults: defaults } }: TextRuntime): JsonObject {
  return {
    temperature: defaults.temperature ?? 1,
    top_p: defaults.topP ?? 1,
    top_k: defaults.topK ?? 0,
    min_p: defaults.minP ?? 0,
    repetition_penalty: defaults.repetitionPenalty ?? 1,
    ...(defaults.maxNewTokens === undefined ? {} : { max_tokens: defaults.maxNewTokens }),
  };
}

const CAPABILITIES: Readonly<Record<EncoderKind, readonly string[]>> = {
  embedding: ['embeddings'],
  reranker: ['rerank', 'score', 'classify'],
  sparse: ['embed_sparse'],
  late: ['token_embed', 'rerank', 'score'],
};

/** Uses of an encoder, loaded or not. */
export function capabilitiesOfEncoder(kind: EncoderKind, takesImages: boolean): readonly string[] {
  return takesImages ? ['embeddings', 'image_embeddings', 'score'] : CAPABILITIES[kind];
}

/** Uses of a model that is loaded. */
export function capabilitiesOfRuntime(runtime: AnyRuntime): readonly string[] {
  switch (runtime.kind) {
    case 'text':
      if (runtime.speech) return ['transcription'];
      return capabilitiesOfText(runtime.prompts.canChat, runtime.takesImages === true);
    case 'encoder':
      return capabilitiesOfEncoder(runtime.encoder.kind, Boolean(runtime.images));
    case 'tensors':
      return ['infer'];
  }
}

export function capabilitiesOfText(canChat: boolean, takesImages: boolean): readonly string[] {
  if (!canChat) return ['completions'];
  return takesImages ? ['completions', 'chat', 'vision'] : ['completions', 'chat'];
}

function describeStatus({ state, reason }: ModelInfo): JsonObject {
  return { value: state, ...(reason === null ? {} : { reason }) };
}
