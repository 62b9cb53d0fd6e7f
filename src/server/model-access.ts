/** From a request to the model that it names. */
import type { Caller } from '../front/caller.ts';
import { saltOf } from '../front/generation/client-grant.ts';
import { parseDuration } from '../front/registry/duration.ts';
import { ModelUnavailableError } from '../front/registry/errors.ts';
import { keyOf } from '../front/registry/model-definition.ts';
import { LIMITS } from '../limits.ts';
import { once } from '../once.ts';
import type { Lease } from '../front/registry/lease.ts';
import {
  baseName,
  findAdapter,
  type FoundAdapter,
  resumedAdapter,
  scaledAdapter,
} from './adapters/find-adapter.ts';
import type { ServerContext } from './context.ts';
import type { AnyRuntime, ServedText } from './runtimes.ts';
import { ADMIN_CLIENT } from './auth/api-keys.ts';
import { badRequest, modelNotFound } from './errors.ts';
import { generationLine } from './generation/generation-line.ts';

/** Fields of a body that name its model; the rest is checked by its API. */
interface ModelFields {
  readonly model: string | null;
  /** User of the request, where an alias stands for several models. */
  readonly user: string;
  /** Milliseconds; null for the server's own. */
  readonly keepAliveMs: number | null;
  /** Null where it is left out. */
  readonly lora: unknown;
}

/** Lease of the model that a request names, or of the model of the adapter that it names. */
export interface NamedLease<R extends AnyRuntime = AnyRuntime> extends Lease<R> {
  readonly adapter: FoundAdapter | null;
}

export interface AcquiredModel {
  readonly model: ServedText;
  /** Lets the model go, and ends what of the request still runs on it; may be called several times. */
  readonly release: () => void;
}

/**
 * The model that a body names, which generates text, once it is loaded; the first there is, if it
 * names none.
 * @throws ApiError 400 for a model that does not, 409 where what an answer began with is not here;
 *   UnknownModelError, ModelUnavailableError, QueueFullError
 */
export async function acquireModel(
  context: ServerContext,
  json: unknown,
  caller: Caller,
): Promise<AcquiredModel> {
  const { model, lora } = modelFieldsOf(json);
  return withAdapterReady(context, caller.answer?.adapter?.name ?? model, caller, () => {
    const picked = findAdapter(context, model);
    const adapter = adapterOf(context, lora, picked, caller);
    const base = picked ?? adapter;
    const named = base ? { ...Object(json), model: baseName(base) } : json;
    const acquiring = acquireKind(context, named, caller, 'text');
    return leased(acquiring, (lease) => modelOf(context, { ...lease, adapter }));
  });
}

/** Does something once the model is loaded whose adapter `name` is, if it is one that is not ready. */
async function withAdapterReady<T>(
  context: ServerContext,
  name: string | null,
  caller: Caller,
  go: () => Promise<T>,
): Promise<T> {
  const isReady = name === null || findAdapter(context, name) !== null;
  const known = isReady ? null : context.adapters.find(name);
  const held = known && (await acquireLease(context, known.base, caller));
  try {
    return await go();
  } finally {
    held?.release();
  }
}

/** Makes something of a lease; lets the model go if that fails. */
export async function leased<L extends Lease<AnyRuntime>, T>(
  acquiring: Promise<L>,
  make: (lease: L) => T,
): Promise<T> {
  const lease = await acquiring;
  try {
    return make(lease);
  } catch (error) {
    lease.release();
    throw error;
  }
}

function adapterOf(
  context: ServerContext,
  lora: unknown,
  picked: FoundAdapter | null,
  { answer }: Caller,
): FoundAdapter | null {
  if (answer?.adapter !== undefined) return resumedAdapter(context, answer.adapter);
  return lora === null ? picked : scaledAdapter(context, lora);
}

/** The model that a body names, of one of some kinds. @throws as `acquireModel` */
export async function acquireKind<K extends AnyRuntime['kind']>(
  context: ServerContext,
  json: unknown,
  caller: Caller,
  ...kinds: readonly K[]
): Promise<Lease<RuntimeOf<K>>> {
  // Its body has been read.
  caller.record?.received(performance.now());
  const { model: name, user, keepAliveMs } = modelFieldsOf(json);
  return leased(acquireLease(context, name, caller, user), (lease) => {
    // All clients share the loaded models, so that only an unguarded server lets a client change this.
    if (keepAliveMs !== null && context.keys.isUnguarded) {
      context.models.keepAlive(keyOf(lease.definition), keepAliveMs);
    }
    if (caller.record && lease.runtime.kind === 'encoder') {
      const { kind } = lease.runtime.encoder;
      const operation = kind === 'reranker' || kind === 'late' ? 'rerank' : 'embeddings';
      caller.record.asked = { operation, model: lease.definition.name };
    }
    return ofKind(lease, kinds);
  });
}

/**
 * The model of a name, whatever its kind, once it is loaded.
 * @param name with `@version` for one version; or an adapter's
 * @throws ApiError, UnknownModelError, ModelUnavailableError, QueueFullError
 */
export async function acquireNamed(
  context: ServerContext,
  name: string,
  caller: Caller,
): Promise<NamedLease> {
  caller.record?.received(performance.now());
  if (name.length > LIMITS.shortTextCharacters) throw modelNotFound(name);
  return withAdapterReady(context, name, caller, () => {
    const adapter = findAdapter(context, name);
    const acquiring = acquireLease(context, adapter ? baseName(adapter) : name, caller);
    return leased(acquiring, (lease) => ({ ...lease, adapter }));
  });
}

/** Notes which model could not be used, for the list of errors. @throws as the registry does, ApiError 429 */
async function acquireLease(
  { models, rates }: ServerContext,
  name: string | null,
  caller: Caller,
  user = '',
): Promise<Lease<AnyRuntime>> {
  // Each load holds up all others for a moment, and pushes another model out.
  const { state } = models.find(name);
  const isOut = state === 'unloaded' || state === 'draining';
  const isLoad = isOut && models.control === 'auto' && !models.sleep.isAsleep;
  if (isLoad && caller.client !== ADMIN_CLIENT) await rates.takeLoad(caller.client);
  try {
    return await models.acquire(name, caller, user);
  } catch (error) {
    if (caller.record && error instanceof ModelUnavailableError) {
      caller.record.unavailableModel = error.model;
    }
    throw error;
  }
}

/** @throws ApiError 400 for a model that generates no text, which is released */
export function requireText(lease: NamedLease): NamedLease<RuntimeOf<'text'>> {
  return ofKind(lease, ['text']);
}

/** Builds the view that a request has of a model that generates text. */
export function modelOf(
  context: ServerContext,
  lease: NamedLease<RuntimeOf<'text'>>,
): AcquiredModel {
  const { runtime, definition, pin, adapter: found } = lease;
  const modelKey = { name: definition.name, version: definition.version };
  // Answers name what was asked for.
  const model = found ? { ...runtime.model, id: found.adapter.name } : runtime.model;
  const adapter = found?.adapter.engine ?? null;
  const cacheSaltOf = (client: string, salt: string) => saltOf(client, salt, context.config);
  const generate = generationLine(context, runtime);
  const images = runtime.takesImages === true ? context.images.ofRequest() : null;
  const started = new Set<AbortController>();
  const keepLoaded = (): (() => void) => {
    started.clear();
    return pin();
  };
  const release = once(() => {
    for (const run of started) run.abort(new Error('the request ended'));
    images?.release();
    lease.release();
  });
  return {
    model: {
      ...runtime,
      model,
      modelKey,
      adapter,
      images,
      cacheSaltOf,
      generate,
      started,
      keepLoaded,
    },
    release,
  };
}

/** @throws ApiError 400 for a model of another kind, which is released */
function ofKind<K extends AnyRuntime['kind'], L extends Lease<AnyRuntime>>(
  lease: L,
  kinds: readonly K[],
): L & Lease<RuntimeOf<K>> {
  const { runtime, definition } = lease;
  if (isOfKind(runtime, kinds)) return { ...lease, runtime };
  lease.release();
  throw badRequest(
    `The model \`${definition.name}\` ${DOES[runtime.kind]}.`,
    'model',
    'model_not_supported',
  );
}

type RuntimeOf<K extends AnyRuntime['kind']> = Extract<AnyRuntime, { readonly kind: K }>;

function isOfKind<K extends AnyRuntime['kind']>(
  runtime: AnyRuntime,
  kinds: readonly K[],
): runtime is RuntimeOf<K> {
  return kinds.some((kind) => kind === runtime.kind);
}

/** Use of each kind of model, for errors of requests that want another. */
const DOES: Readonly<Record<AnyRuntime['kind'], string>> = {
  text: 'generates text',
  encoder: 'encodes texts and generates none',
  tensors: 'takes and gives tensors (/v2/models/.../infer)',
};

/** Runs `action` with the model that a body names, which stays loaded until it is done. */
export async function withModel<T>(
  context: ServerContext,
  json: unknown,
  caller: Caller,
  action: (model: ServedText) => Promise<T>,
): Promise<T> {
  const { model, release } = await acquireModel(context, json, caller);
  try {
    return await action(model);
  } finally {
    release();
  }
}

function modelFieldsOf(json: unknown): ModelFields {
  const body: Readonly<Record<string, unknown>> =
    typeof json === 'object' && json !== null ? { ...json } : {};
  const { model, user, keep_alive: keepAlive, lora } = body;
  // Its API refuses what is not a name.
  const isName = typeof model === 'string' && model.length <= LIMITS.shortTextCharacters;
  return {
    model: isName ? model : null,
    lora: lora ?? null,
    user: typeof user === 'string' ? user : '',
    keepAliveMs: keepAlive === undefined || keepAlive === null ? null : toMs(keepAlive),
  };
}

function toMs(keepAlive: unknown): number {
  const ms = parseDuration(keepAlive);
  if (ms !== null) return ms;
  throw badRequest(
    '`keep_alive`: expected a duration such as "5m", or seconds; below 0 is forever.',
    'keep_alive',
    'invalid_value',
  );
}
