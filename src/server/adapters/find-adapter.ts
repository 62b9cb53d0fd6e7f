/** From the name of an adapter to the model that it is for. */
import type { ServedAdapter } from '../../front/adapters/served-adapters.ts';
import { keyOf, type ModelKey } from '../../front/registry/model-definition.ts';
import type { ServerContext } from '../context.ts';

export interface FoundAdapter {
  readonly adapter: ServedAdapter;
  /** Of its model. */
  readonly base: ModelKey;
}

/** Those of all models that are loaded. */
export function allAdapters({ models }: Pick<ServerContext, 'models'>): FoundAdapter[] {
  return models.loaded().flatMap(({ definition, runtime }) => {
    const adapters = runtime.kind === 'text' ? (runtime.adapters?.list() ?? []) : [];
    return adapters.map((adapter) => ({ adapter, base: definition }));
  });
}

/** The adapter that a request names in place of a model; null where it names none. */
export function findAdapter(
  context: Pick<ServerContext, 'models'>,
  name: string | null,
): FoundAdapter | null {
  if (name === null) return null;
  return allAdapters(context).find(({ adapter }) => adapter.name === name) ?? null;
}

/** The name by which the registry knows an adapter's model. */
export function baseName({ base }: FoundAdapter): string {
  return keyOf(base);
}
