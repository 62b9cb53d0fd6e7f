/** From the name of an adapter to the model that it is for. */
import type { AnsweringAdapter } from '../../front/caller.ts';
import type { ServedAdapter } from '../../front/adapters/served-adapters.ts';
import type { KnownAdapter } from '../../front/adapters/adapter-shelf.ts';
import { keyOf, type ModelKey } from '../../front/registry/model-definition.ts';
import type { ServerContext } from '../context.ts';
import { badRequest, cannotResume } from '../errors.ts';
import { loraField } from '../schemas/adapters.ts';
import { parseWith } from '../schemas/parse.ts';

export interface FoundAdapter {
  readonly adapter: ServedAdapter;
  /** Model that the adapter belongs to. */
  readonly base: ModelKey;
}

/** Those of all models that are loaded. */
export function allAdapters({ models }: Pick<ServerContext, 'models'>): FoundAdapter[] {
  return models.loaded().flatMap(({ definition, runtime }) => {
    const adapters = runtime.kind === 'text' ? (runtime.adapters?.list() ?? []) : [];
    return adapters.map((adapter) => ({ adapter, base: definition }));
  });
}

/** Those of models that are not loaded, or not yet with them: by name, with the model's name. */
export function waitingAdapters(
  context: Pick<ServerContext, 'models' | 'adapters'>,
): readonly KnownAdapter[] {
  const ready = new Set(allAdapters(context).map(({ adapter }) => adapter.name));
  return context.adapters.list().filter(({ name }) => !ready.has(name));
}

/** The adapter that a request names in place of a model; null where it names none. */
export function findAdapter(
  context: Pick<ServerContext, 'models'>,
  name: string | null,
): FoundAdapter | null {
  if (name === null) return null;
  return allAdapters(context).find(({ adapter }) => adapter.name === name) ?? null;
}

/**
 * The adapter that a request's `lora` picks, with its scale.
 * @returns null where all have scale 0: the model alone
 * @throws ApiError 400 for one that is not there, or for several at once
 */
export function scaledAdapter(
  context: Pick<ServerContext, 'models'>,
  lora: unknown,
): FoundAdapter | null {
  const wanted = parseWith(loraField, lora, ['lora']).filter(({ scale }) => scale !== 0);
  const [first, other] = wanted;
  if (first === undefined) return null;
  if (other !== undefined) {
    throw badRequest('`lora`: a request can have one adapter with a scale other than 0.', 'lora');
  }
  const found = allAdapters(context)[first.id];
  if (found === undefined) {
    throw badRequest(`\`lora\`: there is no adapter ${first.id} in /lora-adapters.`, 'lora');
  }
  return withScale(found, first.scale);
}

/**
 * Adapter that an answer began with on another server.
 * @param begun null for the model alone
 * @throws ApiError 409 if no adapter here has that name and content
 */
export function resumedAdapter(
  context: Pick<ServerContext, 'models'>,
  begun: AnsweringAdapter | null,
): FoundAdapter | null {
  if (begun === null) return null;
  const found = findAdapter(context, begun.name);
  if (found === null) {
    throw cannotResume(`It began with the LoRA adapter ${begun.name}, which is not here.`);
  }
  if (found.adapter.engine.id !== begun.id) {
    const why = 'which has other weights here, or is of another model';
    throw cannotResume(`It began with the LoRA adapter ${begun.name}, ${why}.`);
  }
  return withScale(found, begun.scale);
}

function withScale(found: FoundAdapter, scale: number): FoundAdapter {
  const { adapter } = found;
  return { ...found, adapter: { ...adapter, engine: { ...adapter.engine, scale } } };
}

/** The name by which the registry knows an adapter's model. */
export function baseName({ base }: FoundAdapter): string {
  return keyOf(base);
}
