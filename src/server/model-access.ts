/** From a request to the model that it names. */
import type { Caller } from '../front/caller.ts';
import { parseDuration } from '../front/registry/duration.ts';
import { LIMITS } from '../limits.ts';
import type { ModelContext, ServerContext } from './context.ts';
import { badRequest } from './errors.ts';

/** What of a body says which model it is for; the rest is checked by its API. */
interface ModelFields {
  readonly model: string | null;
  /** Whose request it is, where an alias stands for several models. */
  readonly user: string;
  /** Milliseconds; null for the server's own. */
  readonly keepAliveMs: number | null;
}

export interface AcquiredModel {
  readonly model: ModelContext;
  /** Lets the model go; may be called several times. */
  readonly release: () => void;
}

/**
 * The model that a body names, once it is loaded; the first there is, if it names none.
 * @throws UnknownModelError, ModelUnavailableError, QueueFullError
 */
export async function acquireModel(
  context: ServerContext,
  json: unknown,
  caller: Caller,
): Promise<AcquiredModel> {
  const { model: name, user, keepAliveMs } = modelFieldsOf(json);
  const { runtime, definition, release, pin } = await context.models.acquire(name, caller, user);
  // What one client does to the models that are loaded, all others feel.
  if (keepAliveMs !== null && context.keys.isOpen) {
    context.models.keepAlive(`${definition.name}@${definition.version}`, keepAliveMs);
  }
  return { model: { ...context, ...runtime, keepLoaded: pin }, release };
}

/** Runs `action` with the model that a body names, which stays loaded until it is done. */
export async function withModel<T>(
  context: ServerContext,
  json: unknown,
  caller: Caller,
  action: (model: ModelContext) => Promise<T>,
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
  const { model, user, keep_alive: keepAlive } = body;
  // What is no name its API refuses.
  const isName = typeof model === 'string' && model.length <= LIMITS.shortTextCharacters;
  return {
    model: isName ? model : null,
    user: typeof user === 'string' ? user : '',
    keepAliveMs: keepAlive === undefined || keepAlive === null ? null : toMs(keepAlive),
  };
}

function toMs(keepAlive: unknown): number {
  const ms = parseDuration(keepAlive);
  if (ms !== null) return ms;
  throw badRequest(
    '`keep_alive`: expected a duration such as "5m", or seconds; below 0 is for ever.',
    'keep_alive',
    'invalid_value',
  );
}
